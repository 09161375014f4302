/** The least that writing a file with its SHA-256 can be in Node: `node bare.ts <from> <to>`. Says how long it took. */
import { createHash } from 'node:crypto'
import { createReadStream, createWriteStream } from 'node:fs'
import { rename } from 'node:fs/promises'
import { pipeline } from 'node:stream/promises'

const [, , from, to] = process.argv
const startedAt = performance.now()
const hash = createHash('sha256')
await pipeline(
  createReadStream(from!, { highWaterMark: 1 << 20 }),
  async function* (parts: AsyncIterable<Buffer>) {
    for await (const part of parts) {
      hash.update(part)
      yield part
    }
  },
  createWriteStream(`${to}.new`, { highWaterMark: 1 << 20, flush: true }),
)
await rename(`${to}.new`, to!)
process.stdout.write(
  `${JSON.stringify({ seconds: (performance.now() - startedAt) / 1000, sha256: hash.digest('hex') })}\n`,
)
