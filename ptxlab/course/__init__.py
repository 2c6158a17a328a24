"""The course: exercises with checks that grade on mechanism, and the gallery of bugs to find."""
