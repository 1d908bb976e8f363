"""What a picture's own header says: picture.py FILE prints "FORMAT WIDTH HEIGHT BYTES"."""
import struct
import sys


def jpeg(data):
    at = 2
    while True:
        marker, length = struct.unpack(">xBH", data[at:at + 4])
        if 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):
            height, width = struct.unpack(">HH", data[at + 5:at + 9])
            return "jpeg", width, height
        at += 2 + length


def webp(data):
    chunk = data[12:16]
    if chunk == b"VP8L":
        bits = struct.unpack("<I", data[21:25])[0]
        return "webp", (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
    if chunk == b"VP8X":
        width, height = (int.from_bytes(data[at:at + 3], "little") + 1 for at in (24, 27))
        return "webp", width, height
    width, height = struct.unpack("<HH", data[26:30])
    return "webp", width & 0x3FFF, height & 0x3FFF


data = open(sys.argv[1], "rb").read()
if data[:2] == b"\xff\xd8":
    found = jpeg(data)
elif data[:4] == b"RIFF" and data[8:12] == b"WEBP":
    found = webp(data)
elif data[:8] == b"\x89PNG\r\n\x1a\n":
    found = ("png", *struct.unpack(">II", data[16:24]))
else:
    sys.exit(f"{sys.argv[1]}: neither JPEG nor PNG nor WebP")
print(*found, len(data))
