"""Binder: the files follow repo2docker's rules, and the same installation in a fresh environment runs the notebooks."""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BINDER = ROOT / "binder"
START = "/lab/tree/notebooks/00-start-here.ipynb"


def test_the_files_follow_repo2dockers_rules() -> None:
    assert {p.name for p in BINDER.iterdir()} == {"postBuild", "requirements.txt", "runtime.txt", "start"}
    for name in ("postBuild", "start"):
        assert os.access(BINDER / name, os.X_OK), f"binder/{name} is to be executable"
        text = (BINDER / name).read_text(encoding="utf-8")
        assert text.startswith("#!/usr/bin/env bash\n")
        assert "\r" not in text
        assert subprocess.run(["bash", "-n", BINDER / name]).returncode == 0
    assert (BINDER / "start").read_text(encoding="utf-8").rstrip().endswith('exec "$@"')
    assert re.fullmatch(r"python-3\.1[1-9]\n", (BINDER / "runtime.txt").read_text(encoding="utf-8"))
    others = ["environment.yml", "Dockerfile", "Pipfile", "install.R", "default.nix"]  # they would win over ours
    assert not [name for name in others if (ROOT / name).exists() or (BINDER / name).exists()]


def test_the_badge_starts_at_the_first_notebook() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    (link,) = re.findall(r"\[!\[[^\]]*\]\(https://mybinder\.org/badge_logo\.svg\)\]\(([^)]*)\)", readme)
    assert re.fullmatch(
        r"https://mybinder\.org/v2/gh/[\w.-]+/[\w.-]+/\w+\?urlpath=" + START[1:].replace("/", "%2F"), link
    )
    assert (ROOT / START.removeprefix("/lab/tree/")).is_file()


def python() -> str:
    """The Python of runtime.txt where there is one, else the one that runs the tests."""
    wanted = (BINDER / "runtime.txt").read_text(encoding="utf-8").strip().replace("-", "")
    found = shutil.which(wanted)
    works = found and subprocess.run([found, "-c", "import venv, ensurepip"], capture_output=True).returncode == 0
    return found if found and works else sys.executable


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, str]]:
    """A copy of the repository in which Binder's steps were run in a fresh environment, and its variables."""
    home = tmp_path_factory.mktemp("binder")
    repository = home / "repository"
    tracked = subprocess.run(["git", "ls-files", "-z", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True)
    if tracked.returncode:
        pytest.skip("not a checkout of the repository")
    for name in tracked.stdout.decode().split("\0"):
        if name and (ROOT / name).is_file():
            (repository / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, repository / name)
    subprocess.run([python(), "-m", "venv", home / "env"], check=True)
    env = {n: v for n, v in os.environ.items() if not n.startswith(("PYTHON", "VIRTUAL_ENV", "JUPYTER"))}
    env |= {
        "PATH": f"{home / 'env' / 'bin'}{os.pathsep}{env['PATH']}",
        "HOME": str(home),
        "JUPYTER_PREFER_ENV_PATH": "1",
    }
    for step in (["python", "-m", "pip", "install", "-q", "-r", "binder/requirements.txt"], ["binder/postBuild"]):
        done = subprocess.run(step, cwd=repository, env=env, capture_output=True, text=True, timeout=900)
        assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
    return repository, env


@pytest.mark.long
def test_jupyterhub_starts_with_the_notebooks(tmp_path: Path) -> None:
    folder = ROOT / "docs" / "jupyterhub"
    (tmp_path / "ptxlab").mkdir()
    (tmp_path / "ptxlab" / "01-scalar.ipynb").write_text("my answers", encoding="utf-8")
    command = [folder / "start", sys.executable, "-c", "import os; print(os.getcwd())"]
    for _ in range(2):
        done = subprocess.run(command, env=os.environ | {"HOME": str(tmp_path)}, capture_output=True, text=True)
        assert done.stdout.strip() == str(tmp_path), done.stderr
    copied = {p.name for p in (tmp_path / "ptxlab").iterdir()}
    assert copied == {p.name for p in (ROOT / "notebooks").glob("*.ipynb")}
    assert (tmp_path / "ptxlab" / "01-scalar.ipynb").read_text(encoding="utf-8") == "my answers"
    (first,) = re.findall(
        r'default_url = "/lab/tree/(.+)"', (folder / "jupyterhub_config.py").read_text(encoding="utf-8")
    )
    assert (tmp_path / first).is_file()


@pytest.mark.slow
def test_the_notebooks_run_in_a_fresh_environment(image: tuple[Path, dict[str, str]]) -> None:
    repository, env = image
    notebooks = sorted(path.name for path in (repository / "notebooks").glob("*.ipynb"))
    assert notebooks
    code = (
        "import nbclient, nbformat, sys\n"
        "for name in sys.argv[1:]:\n"
        "    nbclient.NotebookClient(nbformat.read(name, 4), timeout=300, kernel_name='python3').execute()\n"
        "    print('ran', name)\n"
    )
    done = subprocess.run(
        ["binder/start", "python", "-c", code, *(f"notebooks/{name}" for name in notebooks)],
        cwd=repository,
        env=env,
        capture_output=True,
        text=True,
        timeout=1200,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    assert [line.split("/")[-1] for line in done.stdout.splitlines() if line.startswith("ran ")] == notebooks


@pytest.mark.slow
def test_the_server_starts_at_the_first_notebook(image: tuple[Path, dict[str, str]]) -> None:
    repository, env = image
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [
        "binder/start",
        "jupyter",
        "lab",
        "--no-browser",
        "--ip=127.0.0.1",
        f"--port={port}",
        "--allow-root",
        "--IdentityProvider.token=",
    ]
    log = repository / "server.log"
    with log.open("w") as output:
        server = subprocess.Popen(command, cwd=repository, env=env, stdout=output, stderr=output)
    try:
        base = f"http://127.0.0.1:{port}"
        for _ in range(120):
            try:
                with urllib.request.urlopen(f"{base}/api/status", timeout=5) as reply:
                    assert json.load(reply)["kernels"] == 0
                break
            except OSError:
                assert server.poll() is None, log.read_text(encoding="utf-8")
                time.sleep(0.5)
        with urllib.request.urlopen(base, timeout=30) as page:  # follows the redirection
            assert page.url.endswith(START)
        with urllib.request.urlopen(f"{base}/api/contents/{START.removeprefix('/lab/tree/')}", timeout=30) as reply:
            assert json.load(reply)["type"] == "notebook"
    finally:
        server.terminate()
        server.wait(30)
