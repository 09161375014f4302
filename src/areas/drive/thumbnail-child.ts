/** A process that makes one small picture: a hostile one takes only this process down. Bytes on stdin, WebP on stdout. */
import sharp from 'sharp'

const pixels = Number(process.argv[2])
const MOST_PIXELS = 100_000_000

sharp.concurrency(1)
sharp.cache(false)
const parts: Buffer[] = []
for await (const part of process.stdin) parts.push(part as Buffer)
const bytes = await sharp(Buffer.concat(parts), { limitInputPixels: MOST_PIXELS, failOn: 'none' })
  .rotate()
  .resize({ width: pixels, height: pixels, fit: 'inside', withoutEnlargement: true })
  .webp({ quality: 80 })
  .toBuffer()
process.stdout.write(bytes)
