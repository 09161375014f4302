/** Clients that cost as little as a client can: what is measured is the server. */
import { createReadStream } from 'node:fs'
import { connect } from 'node:net'

export interface Transferred {
  bytes: number
  seconds: number
  status: number
  /** The body, where it is short. */
  text: string
}

const MAX_TEXT = 4_096

/** Sends a request and its body, and reads the answer into one buffer again and again. */
export function transfer(
  port: number,
  head: string,
  body: AsyncIterable<Uint8Array> | null = null,
): Promise<Transferred> {
  const startedAt = performance.now()
  const buffer = Buffer.allocUnsafe(1 << 20)
  let header = ''
  let expected = Infinity
  let bytes = 0
  let status = 0
  let text = ''
  return new Promise((resolve, reject) => {
    const end = () => {
      socket.destroy()
      resolve({ bytes, seconds: (performance.now() - startedAt) / 1000, status, text })
    }
    const socket = connect({
      port,
      host: '127.0.0.1',
      onread: {
        buffer,
        callback(size: number) {
          let at = 0
          if (expected === Infinity) {
            const before = header.length
            header += buffer.toString('latin1', 0, size)
            const stop = header.indexOf('\r\n\r\n')
            if (stop < 0) return true
            status = Number(header.slice(9, 12))
            expected = Number(/^content-length: (\d+)/im.exec(header)?.[1] ?? 0)
            at = stop + 4 - before
          }
          if (bytes < MAX_TEXT) text += buffer.toString('latin1', at, Math.min(size, at + MAX_TEXT))
          bytes += size - at
          if (bytes >= expected) end()
          return true
        },
      },
    })
    socket.on('error', reject)
    socket.on('close', () => reject(new Error(`the connection ended after ${bytes} bytes`)))
    socket.write(head)
    if (body !== null) void send(socket, body).catch(reject)
  })
}

async function send(socket: ReturnType<typeof connect>, body: AsyncIterable<Uint8Array>): Promise<void> {
  for await (const part of body)
    if (!socket.write(part)) await new Promise<void>((resolve) => socket.once('drain', () => resolve()))
}

const BOUNDARY = 'bench-boundary'

/** A form with one file, of this length, as it goes over the wire. */
export function formWith(
  port: number,
  key: string,
  workspaceId: string,
  name: string,
  length: number,
  content: AsyncIterable<Uint8Array>,
): { head: string; body: AsyncIterable<Uint8Array> } {
  const before = `--${BOUNDARY}\r\nContent-Disposition: form-data; name="workspace_id"\r\n\r\n${workspaceId}\r\n--${BOUNDARY}\r\nContent-Disposition: form-data; name="file"; filename="${name}"\r\nContent-Type: application/octet-stream\r\n\r\n`
  const after = `\r\n--${BOUNDARY}--\r\n`
  const head = `POST /v1/drive/files HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\nauthorization: Bearer ${key}\r\ncontent-type: multipart/form-data; boundary=${BOUNDARY}\r\ncontent-length: ${before.length + length + after.length}\r\n\r\n`
  const body = async function* () {
    yield Buffer.from(before)
    yield* content
    yield Buffer.from(after)
  }
  return { head, body: body() }
}

export const fileParts = (path: string): AsyncIterable<Uint8Array> => createReadStream(path, { highWaterMark: 1 << 20 })

/** Bytes that never repeat within a part, made once. */
export async function* madeUp(part: Buffer, length: number): AsyncGenerator<Uint8Array> {
  for (let left = length; left > 0; left -= part.length) yield left < part.length ? part.subarray(0, left) : part
}
