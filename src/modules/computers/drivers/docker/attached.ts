import { type Duplex, type Readable, Transform, Writable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { DriverFault } from '../driver.ts'
import type { ContainerEngine } from './api.ts'
import type { Spec } from './spec.ts'
import { feed } from '../unpacking/feed.ts'

export interface Through {
  from?: Readable
  into?: Writable
  timeoutMs?: number
}

/** Throws a fault with the end of stderr unless the exit code is 0. */
export async function runContainer(
  engine: ContainerEngine,
  name: string,
  spec: Spec,
  { from, into, timeoutMs }: Through = {},
): Promise<string> {
  await engine.remove(name)
  await engine.create(name, { ...spec, OpenStdin: from !== undefined, StdinOnce: from !== undefined })
  let socket: Duplex | null = null
  let late = false
  const timer = timeoutMs === undefined ? undefined : setTimeout(end, timeoutMs)
  function end(): void {
    late = true
    socket?.destroy()
    engine.remove(name).catch(() => {})
  }
  try {
    socket = await engine.attach(name)
    await engine.start(name)
    const output = { stdout: '', stderr: '' }
    const reading = pipeline(
      socket,
      demultiplex((text) => (output.stderr = (output.stderr + text).slice(-500))),
      into ?? collect((text) => (output.stdout = (output.stdout + text).slice(-MAX_OUTPUT))),
    )
    // A failing program may exit before reading all input.
    const writing = from ? feed(from, halfOf(socket)) : Promise.resolve()
    const [wrote] = await Promise.allSettled([writing, reading])
    const code = await engine.wait(name)
    if (code !== 0) throw new DriverFault(`The command exited with ${code}: ${output.stderr.trim()}`)
    if (wrote.status === 'rejected') throw wrote.reason
    await reading
    return output.stdout
  } catch (error) {
    if (late) throw new DriverFault(`The command didn’t finish within ${timeoutMs! / 1_000} seconds.`)
    throw error
  } finally {
    clearTimeout(timer)
    socket?.destroy()
    await engine.remove(name)
  }
}

const MAX_OUTPUT = 65_536

/** Half-close: the reading side stays open. */
const halfOf = (socket: Duplex): Writable =>
  new Writable({
    write: (part, _, done) => void socket.write(part, done),
    final: (done) => void socket.end(done),
  })

const collect = (take: (text: string) => void): Writable =>
  new Writable({
    write(part: Buffer, _, done) {
      take(part.toString('latin1'))
      done()
    },
  })

/**
 * Parses Docker's stream frames: 1 byte for the stream, 3 zero bytes, 4 for the length.
 * https://docs.docker.com/reference/api/engine/version/v1.41/#tag/Container/operation/ContainerAttach
 */
export function demultiplex(onStderr: (text: string) => void): Transform {
  const head = Buffer.alloc(8)
  let headBytes = 0
  let bodyBytes = 0
  return new Transform({
    transform(part: Buffer, _, done) {
      for (let at = 0; at < part.length;) {
        if (bodyBytes === 0) {
          const copied = part.copy(head, headBytes, at, at + 8 - headBytes)
          headBytes += copied
          at += copied
          if (headBytes < 8) break
          headBytes = 0
          bodyBytes = head.readUInt32BE(4)
          continue
        }
        const piece = part.subarray(at, at + bodyBytes)
        at += piece.length
        bodyBytes -= piece.length
        if (head[0] === 2) onStderr(piece.toString('utf8'))
        else this.push(piece)
      }
      done()
    },
    flush(done) {
      done(bodyBytes === 0 && headBytes === 0 ? null : new DriverFault('The container engine closed the connection.'))
    },
  })
}
