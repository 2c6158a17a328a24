"""Makes the compiled part of the corpus again: `python tests/corpus/make.py` with nvcc, NVRTC or Triton installed.

tests/cuda/<name>.cu becomes cuda/<name>.<O3|G>[.<arch>|.nvrtc].ptx, for sm_80 where no architecture is named;
calls.cu and features.cu, there for their text only, go to grammar/. The programs in tests/cuda/programs go into one
archive, cuda_programs.tar.xz. The kernels of triton_kernels.py become triton/<name>.<arch>.ptx, with launches.json.
No path of the machine that compiled may stay in a file: `neutral` removes them, also from the debugger's data.
"""

from __future__ import annotations

import contextlib
import io
import json
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator
from pathlib import Path

HERE = Path(__file__).resolve().parent
SOURCES = HERE.parent / "cuda"
TEXT_ONLY = {"calls": ("O3", "G"), "features": ("O3",)}
OTHER_ARCHS = {"saxpy": ("sm_75",), "histogram": ("sm_75",), "reduce": ("sm_90",), "softmax": ("sm_90",)}
FIRST_ARCH = {"features": "sm_90"}
MODES = {"O3": ("-O3",), "G": ("-G",)}


def neutral(ptx: str, folder: str) -> str:
    """The text without paths: `.file` names keep their last part, the compilation folder becomes /cuda.

    The debugger's data holds the folder as decimal bytes; it keeps its length there (`/cuda////`), because other
    entries refer to offsets in it.
    """
    ptx = re.sub(r'(\.file\s+\d+ ")[^"]*/', r"\1", ptx)
    padded = "/cuda".ljust(len(folder), "/")
    as_bytes = [",".join(str(byte) for byte in text.encode()) for text in (folder, padded)]
    return ptx.replace(*as_bytes)


def write(path: Path, ptx: str) -> None:
    """Writes one corpus file and says so."""
    path.parent.mkdir(exist_ok=True)
    path.write_text(ptx, newline="\n")
    print(f"{path.relative_to(HERE)}: {len(ptx)} characters")


@contextlib.contextmanager
def build_folder() -> Iterator[str]:
    """An empty folder of always the same name, to be in: compilers hash its name into those of internal functions."""
    folder = Path(tempfile.gettempdir()) / "ptxlab-corpus"
    folder.mkdir()
    try:
        with contextlib.chdir(folder):
            yield str(folder)
    finally:
        shutil.rmtree(folder)


def with_nvcc(nvcc: str) -> None:
    """Compiles every .cu at -O3 and -G."""
    with build_folder() as folder:
        for source in sorted(SOURCES.glob("*.cu")):
            shutil.copy(source, folder)
            to = HERE / ("grammar" if source.stem in TEXT_ONLY else "cuda")
            for mode in TEXT_ONLY.get(source.stem, tuple(MODES)):
                first = FIRST_ARCH.get(source.stem, "sm_80")
                for arch in (first, *OTHER_ARCHS.get(source.stem, ())):
                    command = [nvcc, "-ptx", "-std=c++17", *MODES[mode], f"-arch={arch}", source.name, "-o", "out.ptx"]
                    subprocess.run(command, cwd=folder, check=True)
                    suffix = "" if arch == first else f".{arch}"
                    text = (Path(folder) / "out.ptx").read_text()
                    write(to / f"{source.stem}.{mode}{suffix}.ptx", neutral(text, folder))


PROGRAMS = SOURCES / "programs"
PROGRAMS_ARCHIVE = HERE / "cuda_programs.tar.xz"
PROGRAM_ARCHS = ("sm_75", "sm_80", "sm_90")


def with_nvcc_programs(nvcc: str) -> None:
    """Compiles cuda/programs/<name>.cu to <name>.<O3|G>.<arch>.ptx, all in one archive, the same on every run."""
    sys.path[:0] = [str(HERE.parent), str(HERE.parent / "support")]
    from cuda_cases import NEEDS

    made: dict[str, bytes] = {}
    with build_folder() as folder:
        for source in sorted(PROGRAMS.glob("*.cu")):
            shutil.copy(source, folder)
            for mode, options in MODES.items():
                for arch in PROGRAM_ARCHS:
                    if int(arch[3:]) >= NEEDS.get(source.stem, 75):
                        command = [nvcc, "-ptx", "-std=c++17", *options, f"-arch={arch}", source.name, "-o", "out.ptx"]
                        subprocess.run(command, cwd=folder, check=True, stderr=subprocess.DEVNULL)
                        text = neutral((Path(folder) / "out.ptx").read_text(), folder)
                        made[f"{source.stem}.{mode}.{arch}.ptx"] = text.encode()
    with tarfile.open(PROGRAMS_ARCHIVE, "w:xz", preset=9) as archive:
        for name, data in made.items():
            member = tarfile.TarInfo(name)
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    print(f"{PROGRAMS_ARCHIVE.name}: {len(made)} files, {PROGRAMS_ARCHIVE.stat().st_size} bytes")


def with_nvrtc() -> None:
    """Compiles every .cu that needs no headers through NVRTC, optimised and for the debugger."""
    from cuda.bindings import nvrtc

    def call(result: tuple) -> list:
        if result[0] != nvrtc.nvrtcResult.NVRTC_SUCCESS:
            raise RuntimeError(nvrtc.nvrtcGetErrorString(result[0])[1].decode())
        return list(result[1:])

    with build_folder() as folder:
        for source in sorted(SOURCES.glob("*.cu")):
            if source.stem in TEXT_ONLY:
                continue
            for mode, options in {"O3": [], "G": [b"--device-debug"]}.items():
                options = [b"--gpu-architecture=compute_80", b"--std=c++17", *options]
                (program,) = call(nvrtc.nvrtcCreateProgram(source.read_bytes(), source.name.encode(), 0, [], []))
                call(nvrtc.nvrtcCompileProgram(program, len(options), options))
                (size,) = call(nvrtc.nvrtcGetPTXSize(program))
                ptx = bytearray(size)
                call(nvrtc.nvrtcGetPTX(program, ptx))
                write(HERE / "cuda" / f"{source.stem}.{mode}.nvrtc.ptx", neutral(ptx.decode().rstrip("\0"), folder))


def with_triton() -> None:
    """Compiles the kernels of triton_kernels.py; Triton does this without a GPU when it is told the target."""
    import triton
    import triton_kernels
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    launches = {}
    for name, kernel, arch, signature, constants, attributes, options in triton_kernels.ALL:
        source = ASTSource(fn=kernel, signature=signature, constexprs=constants, attrs=attributes)
        compiled = triton.compile(source, target=GPUTarget("cuda", arch, 32), options=options)
        ptx = re.sub(r'(\.file\s+\d+ ")[^"]*/', r"\1", compiled.asm["ptx"])
        write(HERE / "triton" / f"{name}.sm_{arch}.ptx", without_strings(ptx, str(HERE)))
        launches[f"{name}.sm_{arch}"] = {
            "signature": signature,
            "constants": constants,
            "shared": compiled.metadata.shared,
            "num_warps": compiled.metadata.num_warps,
            "num_stages": compiled.metadata.num_stages,
        }
        if scratch := compiled.metadata.global_scratch_size:
            launches[f"{name}.sm_{arch}"]["scratch"] = scratch
    (HERE / "triton" / "launches.json").write_text(json.dumps(launches, indent=1) + "\n")


def without_strings(ptx: str, folder: str) -> str:
    """Triton's debugger data spells the folder with one byte a line: each of its characters becomes a slash."""
    spelled = "".join(rf"\.b8 {byte}[^\n]*\n" for byte in folder.encode())
    return re.sub(spelled, lambda m: re.sub(r"\.b8 \d+[^\n]*", ".b8 47", m[0]), ptx)


def main() -> None:
    """Makes what the installed compilers can make."""
    nvcc = shutil.which("nvcc")
    if nvcc:
        with_nvcc(nvcc)
        with_nvcc_programs(nvcc)
    for make, package in ((with_nvrtc, "cuda.bindings"), (with_triton, "triton")):
        try:
            make()
        except ModuleNotFoundError as error:
            print(f"left as it is: {package} is not installed ({error})", file=sys.stderr)


if __name__ == "__main__":
    main()
