"""Philox4x32-10 in plain Python, from the definition of Salmon et al. (2011)."""

MASK = 0xFFFFFFFF


def philox(counter: list[int], key: int) -> list[int]:
    k0, k1 = key & MASK, key >> 32
    c0, c1, c2, c3 = counter
    for _ in range(10):
        high0, low0 = divmod(0xD2511F53 * c0, 2**32)
        high1, low1 = divmod(0xCD9E8D57 * c2, 2**32)
        c0, c1, c2, c3 = high1 ^ c1 ^ k0, low1, high0 ^ c3 ^ k1, low0
        k0, k1 = (k0 + 0x9E3779B9) & MASK, (k1 + 0xBB67AE85) & MASK
    return [c0, c1, c2, c3]


def uniform(seed: int, row: int, draw: int, label: int) -> float:
    words = philox([label, draw, row & MASK, row >> 32], seed)
    return (((words[0] << 32 | words[1]) >> 12) + 0.5) * 2.0**-52
