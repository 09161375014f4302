import { createHash } from 'node:crypto'
import { type IncomingMessage, type ServerResponse, createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

/** A server of model files. */
export interface Shelf extends AsyncDisposable {
  /** `http://127.0.0.1:PORT` */
  origin: string
  /** `127.0.0.1:PORT` */
  host: string
  /** The `Range` of each request, oldest first; null: none. */
  ranges: (string | null)[]
  /** Requests whose client left before the end. */
  left: number
  /** What is done with the next requests, one each, instead of answering them well. */
  next: ((request: IncomingMessage, response: ServerResponse, file: Buffer) => void)[]
}

/** Serves `files` by path, with ETags and ranges (RFC 9110). `bytesPerSecond`: no faster. */
export async function shelf(
  files: Record<string, Buffer>,
  { bytesPerSecond = Infinity }: { bytesPerSecond?: number } = {},
): Promise<Shelf> {
  const server = createServer((request, response) => {
    const file = files[request.url!]
    const range = request.headers.range ?? null
    made.ranges.push(range)
    response.once('close', () => (response.writableFinished ? undefined : made.left++))
    if (file === undefined) return void response.writeHead(404).end('none')
    const own = made.next.shift()
    if (own) return own(request, response, file)
    const etag = `"${createHash('sha256').update(file).digest('hex').slice(0, 16)}"`
    const from = Number(/^bytes=(\d+)-$/.exec(range ?? '')?.[1] ?? NaN)
    const partial =
      Number.isFinite(from) && [undefined, etag].includes(request.headers['if-range'] as string | undefined)
    if (partial && from >= file.length)
      return void response.writeHead(416, { etag, 'content-range': `bytes */${file.length}` }).end()
    const bytes = partial ? file.subarray(from) : file
    response.writeHead(partial ? 206 : 200, {
      etag,
      'accept-ranges': 'bytes',
      'content-type': 'application/octet-stream',
      'content-length': bytes.length,
      ...(partial && { 'content-range': `bytes ${from}-${file.length - 1}/${file.length}` }),
    })
    void pour(response, bytes, bytesPerSecond)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`
  const made: Shelf = {
    origin: `http://${host}`,
    host,
    ranges: [],
    left: 0,
    next: [],
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
  return made
}

const TICK_MS = 20

async function pour(response: ServerResponse, bytes: Buffer, bytesPerSecond: number): Promise<void> {
  if (bytesPerSecond === Infinity) return void response.end(bytes)
  const size = Math.ceil((bytesPerSecond * TICK_MS) / 1_000)
  for (let at = 0; at < bytes.length && !response.destroyed; at += size) {
    response.write(bytes.subarray(at, at + size))
    await new Promise((resolve) => setTimeout(resolve, TICK_MS))
  }
  response.end()
}
