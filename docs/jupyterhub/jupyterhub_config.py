"""ptxlab on JupyterHub without Kubernetes: one process for each user of this machine, with a limit on its memory.

    jupyterhub --config docs/jupyterhub/jupyterhub_config.py

Needs jupyterhub 5.3 or newer, configurable-http-proxy and ptxlab in one environment. This file is for a trial: whoever
knows the password, of eight characters or more, is let in, under any name, and every server runs as the user that runs
the hub. For a class take an authenticator of yours and a spawner that changes the user (LocalProcessSpawner,
SystemdSpawner, DockerSpawner).
"""

import os
import resource
from pathlib import Path

from jupyterhub.spawner import SimpleLocalProcessSpawner

HERE = Path(__file__).resolve().parent
HOMES = Path(os.environ.get("PTXLAB_HOMES", "homes")).resolve()
SHARED = os.environ.get("PTXLAB_SHARED_CACHE", "/srv/ptxlab-cache")


class Limited(SimpleLocalProcessSpawner):
    """Servers whose processes, kernels too, may each have so much address space: what cgroups do better."""

    def make_preexec_fn(self, name):
        before = super().make_preexec_fn(name)

        def prepare():
            if before is not None:
                before()
            resource.setrlimit(resource.RLIMIT_AS, (self.mem_limit, self.mem_limit))

        return prepare


c = get_config()  # noqa: F821  JupyterHub has it
c.JupyterHub.bind_url = "http://127.0.0.1:8000"
c.JupyterHub.authenticator_class = "shared-password"
c.SharedPasswordAuthenticator.user_password = os.environ["PTXLAB_HUB_PASSWORD"]
c.Authenticator.allow_all = True
c.JupyterHub.spawner_class = Limited
c.SimpleLocalProcessSpawner.home_dir_template = str(HOMES / "{username}")
c.Spawner.mem_limit = "3G"
c.Spawner.cmd = [str(HERE / "start"), "jupyterhub-singleuser"]
c.Spawner.default_url = "/lab/tree/ptxlab/00-start-here.ipynb"
c.Spawner.environment = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "PTXLAB_SHARED_CACHE": SHARED}
