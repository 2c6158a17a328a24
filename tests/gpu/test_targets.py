"""The targets' limits, and occupancy against values worked out by hand from NVIDIA's occupancy rules."""

from __future__ import annotations

import pytest

from ptxlab import targets
from ptxlab.errors import AssemblyError, TargetError
from ptxlab.gpu import assemble


# Each row worked out on paper: registers a warp = round up(32 r, 256), warps = 4 floor(16384 / that), shared memory a
# block = round up(s + reserved, unit).
@pytest.mark.parametrize(
    ("target", "threads", "registers", "shared", "blocks", "warps", "limiter"),
    [
        ("sm_80", 256, 32, 0, 8, 64, "threads"),  # 64 warps / 8
        ("sm_80", 32, 16, 0, 32, 32, "blocks"),
        ("sm_80", 128, 255, 0, 2, 8, "registers"),  # 8192 a warp: 2 in each of 4 parts
        ("sm_80", 128, 168, 0, 3, 12, "registers"),  # 5376: 3 in each part
        ("sm_80", 128, 200, 0, 2, 8, "registers"),  # 6400: 2, though 65536 / 6400 is 10.24 warps
        ("sm_80", 128, 64, 48 * 1024, 3, 12, "shared memory"),  # 167936 / 50176
        ("sm_80", 128, 64, 163 * 1024, 1, 4, "shared memory"),
        ("sm_75", 256, 64, 0, 4, 32, "threads"),
        ("sm_75", 64, 32, 20000, 3, 6, "shared memory"),  # 65536 / round up(20000, 256) = 20224
        ("sm_86", 128, 40, 0, 12, 48, "threads"),
        ("sm_89", 64, 128, 0, 8, 16, "registers"),  # 4096: 4 in each part, 16 warps
        ("sm_89", 32, 40, 0, 24, 24, "blocks"),
        ("sm_90", 384, 168, 200 * 1024, 1, 12, "registers"),
        ("sm_103", 1024, 32, 0, 2, 64, "threads"),
        ("sm_110", 32, 16, 0, 24, 24, "blocks"),
        ("sm_121", 256, 32, 50000, 2, 16, "shared memory"),  # 102400 / round up(51024, 128) = 51072
        ("sm_120", 64, 16, 40000, 2, 4, "shared memory"),  # 102400 / round up(41024, 128) = 41088
    ],
)
def test_occupancy(
    target: str, threads: int, registers: int, shared: int, blocks: int, warps: int, limiter: str
) -> None:
    found = targets.occupancy(target, threads, registers, shared)
    assert (found.blocks, found.warps, found.limiter) == (blocks, warps, limiter)
    assert found.share == warps / targets.get(target).warps_per_sm


def test_occupancy_says_what_limits_it() -> None:
    assert str(targets.occupancy("sm_80", 128, 255)) == "2 blocks = 8 warps per SM on sm_80 (12%), limited by registers"
    assert targets.occupancy("sm_80", 128, 64, 48 * 1024).limits == {
        "threads": 16,
        "blocks": 32,
        "registers": 8,
        "shared memory": 3,
    }


def _message(call: object, *args: object) -> str:
    with pytest.raises(TargetError) as caught:
        call(*args)  # type: ignore[operator]
    return str(caught.value)


def test_each_limit_is_named() -> None:
    t = targets.get("sm_80")
    assert _message(t.check_block, (32, 33, 1)) == (
        "block: sm_80 has at most 1024 threads in a block, 32 x 33 x 1 are 1056"
    )
    assert _message(t.check_block, (1, 1, 65)) == "block z-dimension is 65; sm_80 allows 1 to 64"
    assert _message(t.check_block, (0, 1, 1)) == "block x-dimension is 0; sm_80 allows 1 to 1024"
    assert _message(t.check_grid, (1, 65536, 1)) == "grid y-dimension is 65536; sm_80 allows 1 to 65535"
    assert _message(t.check_shared, 50000) == (
        "shared memory: sm_80 allows 49152 bytes to be declared, found 50000; "
        "declare `.extern .shared` and give the size at the launch"
    )
    assert _message(t.check_shared, 1024, 166912) == (
        "shared memory: sm_80 has at most 166912 bytes for a block, "
        "167936 are asked for (1024 declared + 166912 dynamic)"
    )
    assert _message(t.check_registers, 32, 256) == "registers: sm_80 has at most 255 for a thread, got 256"
    assert _message(t.check_registers, 1024, 72) == ("registers: 1024 threads with 72 each need 73728, sm_80 has 65536")
    t.check_block((1024, 1, 1))
    t.check_grid((2**31 - 1, 65535, 65535))
    t.check_shared(49152, 166912 - 49152)
    t.check_registers(1024, 64)


def test_unknown_target() -> None:
    assert _message(targets.get, "sm_81") == (
        "target: there is no 'sm_81' here; choose from sm_50, sm_52, sm_60, sm_61, sm_70, sm_75, sm_80, sm_86, sm_87, "
        "sm_89, sm_90, sm_90a, sm_100, sm_100a, sm_103, sm_110, sm_120, sm_121"
    )
    assert targets.get("sm_90a").number == 90
    assert targets.get("sm_120a") == targets.get("sm_120")._replace(name="sm_120a", version=(8, 7))


@pytest.mark.assembler
@pytest.mark.parametrize("name", [name for name in targets.TARGETS if targets.get(name).number >= 75])
def test_the_assembler_agrees(name: str) -> None:
    """The lowest PTX version of the target and its 48 KB of declared shared memory, by NVIDIA's assembler."""
    target = targets.get(name)
    major, minor = target.version

    def text(version: str, shared: int) -> str:
        return (
            f".version {version}\n.target {name}\n.address_size 64\n.shared .align 4 .b8 s[{shared}];\n"
            ".visible .entry k()\n{\n    .reg .b32 %r;\n    mov.b32 %r, s;\n    st.shared.b32 [%r], %r;\n    ret;\n}\n"
        )

    assert assemble(text(f"{major}.{minor}", target.static_shared)).shared_bytes == target.static_shared
    older = f"{major}.{minor - 1}" if minor else f"{major - 1}.{ {7: 5, 8: 8, 9: 8}[major] }"
    with pytest.raises(AssemblyError, match=f"PTX .version {older} does not support .target {name}"):
        assemble(text(older, 4))
    if name.endswith("a"):
        return  # for these the assembler takes more, and leaves it to the driver to refuse the kernel
    with pytest.raises(AssemblyError, match="uses too much shared data"):
        assemble(text(f"{major}.{minor}", target.static_shared + 1))
