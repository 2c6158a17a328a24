"""A pytest plugin: kernels tested without a GPU, each launch with the checks that a marker names.

    @pytest.mark.ptxlab(checks="all", seeds=5)
    def test_add(ptxlab):
        ptxlab.launch(kernel, grid, block, x, y, out)
        assert ptxlab.counters.shared_conflicts == 0

`pip install ptxlab-core` is all that it takes: pytest finds the plugin by its entry point.
"""
