/**
 * Removes metadata about an image's author without decoding. Null for formats that don't allow that. Of EXIF, keeps
 * only the orientation. Throws if truncated.
 */
export function bareBytes(extension: string, bytes: Buffer): Buffer | null {
  switch (extension) {
    case 'jpg':
      return bareJpeg(bytes)
    case 'png':
      return barePng(bytes)
    case 'webp':
      return bareWebp(bytes)
    case 'gif':
      // It can't contain EXIF; comments come from programs.
      return bytes
    default:
      return null
  }
}

/**
 * JPEG segments to remove (ITU-T T.81, B.1): APP1 EXIF and XMP, APP13 Photoshop with IPTC, comments. Color profiles
 * stay.
 */
function bareJpeg(bytes: Buffer): Buffer {
  const parts: Buffer[] = [bytes.subarray(0, 2)]
  let orientation = 1
  let at = 2
  while (at + 4 <= bytes.length) {
    if (bytes[at] !== 0xff) throw new Error('a segment does not begin where the last one ends')
    const marker = bytes[at + 1]!
    if (marker === 0xff) {
      at += 1
      continue
    }
    // Start of scan: pixels until the end.
    if (marker === 0xda) break
    const length = bytes.readUInt16BE(at + 2)
    const segment = bytes.subarray(at, at + 2 + length)
    if (marker === 0xe1 && segment.toString('latin1', 4, 8) === 'Exif')
      orientation = orientationOf(segment.subarray(10)) ?? orientation
    if (marker !== 0xe1 && marker !== 0xed && marker !== 0xfe) parts.push(segment)
    at += 2 + length
  }
  if (orientation !== 1) parts.splice(1, 0, exifOf(orientation))
  return Buffer.concat([...parts, bytes.subarray(at)])
}

/** The orientation (1 to 8) in a TIFF structure's first directory (Exif 3.0, 4.6.2). */
export function orientationOf(tiff: Buffer): number | null {
  if (tiff.length < 14) return null
  const little = tiff.toString('latin1', 0, 2) === 'II'
  const short = (at: number): number =>
    at + 2 > tiff.length ? 0 : little ? tiff.readUInt16LE(at) : tiff.readUInt16BE(at)
  const directory = little ? tiff.readUInt32LE(4) : tiff.readUInt32BE(4)
  const entries = short(directory)
  for (let i = 0; i < entries && directory + 2 + (i + 1) * 12 <= tiff.length; i++) {
    const entry = directory + 2 + i * 12
    if (short(entry) !== ORIENTATION) continue
    const value = short(entry + 8)
    return value >= 1 && value <= 8 ? value : null
  }
  return null
}

const ORIENTATION = 0x0112

function turnedOnly(orientation: number): Buffer {
  const tiff = Buffer.alloc(26)
  tiff.write('MM\0*', 'latin1')
  tiff.writeUInt32BE(8, 4)
  tiff.writeUInt16BE(1, 8)
  tiff.writeUInt16BE(ORIENTATION, 10)
  tiff.writeUInt16BE(3, 12)
  tiff.writeUInt32BE(1, 14)
  tiff.writeUInt16BE(orientation, 18)
  return tiff
}

function exifOf(orientation: number): Buffer {
  const content = Buffer.concat([Buffer.from('Exif\0\0', 'latin1'), turnedOnly(orientation)])
  const head = Buffer.from([0xff, 0xe1, 0, 0])
  head.writeUInt16BE(content.length + 2, 2)
  return Buffer.concat([head, content])
}

/** PNG chunks with metadata (third edition, 11.3). Camera orientation isn't used in PNG. */
const PNG_WORDS = new Set(['eXIf', 'tEXt', 'zTXt', 'iTXt', 'tIME'])

function barePng(bytes: Buffer): Buffer {
  const parts: Buffer[] = [bytes.subarray(0, 8)]
  for (let at = 8; at + 12 <= bytes.length;) {
    const end = at + 12 + bytes.readUInt32BE(at)
    if (end > bytes.length) throw new Error('a chunk is cut off')
    const name = bytes.toString('latin1', at + 4, at + 8)
    if (!PNG_WORDS.has(name)) parts.push(bytes.subarray(at, end))
    // Bytes after the end aren't part of the image.
    if (name === 'IEND') break
    at = end
  }
  return Buffer.concat(parts)
}

/** WebP chunks (RFC 9649, 2.7): removes EXIF and XMP and their flags in VP8X. */
function bareWebp(bytes: Buffer): Buffer {
  const parts: Buffer[] = []
  for (let at = 12; at + 8 <= bytes.length;) {
    const length = bytes.readUInt32LE(at + 4)
    const end = at + 8 + length + (length % 2)
    const name = bytes.toString('latin1', at, at + 4)
    if (name === 'VP8X') {
      const head = Buffer.from(bytes.subarray(at, end))
      // EXIF is the flag 0x08, XMP 0x04.
      head[8] = head[8]! & ~0x0c
      parts.push(head)
    } else if (name !== 'EXIF' && name !== 'XMP ') parts.push(bytes.subarray(at, end))
    at = end
  }
  const content = Buffer.concat(parts)
  const head = Buffer.from('RIFF\0\0\0\0WEBP', 'latin1')
  head.writeUInt32LE(content.length + 4, 4)
  return Buffer.concat([head, content])
}
