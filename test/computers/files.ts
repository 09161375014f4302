import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { AskedStream } from '#daemon-protocol/link.ts'
import { createFiles } from '#daemon/files/files.ts'
import type { Clock } from '#daemon/time/unused.ts'
import { dial, listPorts } from '#daemon/ports.ts'
import { Refusal } from '#core/errors.ts'
import type { Input, OperationName, Output } from '#daemon-protocol/operations.ts'
import type { Answerer } from '../link/pair.ts'
import { socketLink } from '../link/sockets.ts'

interface Story {
  after(fn: () => Promise<void>): void
}

/** The daemon's file operations in these folders, without a link. */
export async function filesIn(t: Story, allowed: readonly string[]) {
  const folder = await mkdtemp(join(tmpdir(), 'uk-state-'))
  const files = createFiles({ allowed, folder })
  t.after(async () => {
    await files[Symbol.asyncDispose]()
    await rm(folder, { recursive: true, force: true })
  })
  return files.handlers
}

/** A daemon's files and ports over a real socket. */
export async function machine(options: { root?: string; state?: string; clock?: () => Clock } = {}) {
  const { root = await mkdtemp(join(tmpdir(), 'uk-files-')), state = await mkdtemp(join(tmpdir(), 'uk-state-')) } =
    options
  const files = createFiles({ allowed: [root], folder: state, ...(options.clock && { clock: options.clock }) })
  // Untyped, as over a link: each handler parses its input.
  const handlers = { ...files.handlers, 'ports.dial': dial, 'ports.list': listPorts } as unknown as Record<
    string,
    (input: unknown, ...rest: [Parameters<Answerer>[1], Parameters<Answerer>[2]]) => Promise<object>
  >
  const answer: Answerer = ({ op, input }, stream, call) => handlers[op]!(input, stream, call)
  const link = await socketLink(answer)
  return {
    root,
    answer,
    cut: link.cut,
    open: <O extends OperationName>(op: O, input: Input<O>): AskedStream<O> => link.asks.open({ op, input }),
    async [Symbol.asyncDispose]() {
      await link[Symbol.asyncDispose]()
      await files[Symbol.asyncDispose]()
      const own = [root, state].filter((folder) => folder !== options.root && folder !== options.state)
      await Promise.all(own.map((folder) => rm(folder, { recursive: true, force: true })))
    },
  }
}
export type Machine = Awaited<ReturnType<typeof machine>>

export async function download(open: Machine['open'], input: Partial<Input<'fs.read'>> & { path: string }) {
  const stream = open('fs.read', { offset: 0, length: null, archive: null, ...input })
  const parts: Uint8Array[] = []
  let head: { length: number | null; etag: string | null } | null = null
  for await (const each of stream) {
    if (each.type === 'event') head = each.event as typeof head
    if (each.type === 'bytes') parts.push(Uint8Array.from(each.bytes))
  }
  return { head: head!, bytes: Buffer.concat(parts), output: await stream.output }
}

export async function upload(
  open: Machine['open'],
  bytes: Buffer,
  input: Partial<Input<'fs.write'>> & { path: string },
): Promise<Output<'fs.write'>> {
  const stream = open('fs.write', {
    key: 'k',
    overwrite: false,
    offset: 0,
    size: null,
    complete: true,
    mode: null,
    ...input,
  })
  stream.output.catch(() => {})
  const sending = (async () => {
    for (let at = 0; at < bytes.length; at += 50_000) await stream.write(bytes.subarray(at, at + 50_000))
    stream.finish()
  })()
  sending.catch(() => {})
  return stream.output
}

export const isRefusal = (code: string) => (error: unknown) => {
  assert.ok(error instanceof Refusal, String(error))
  assert.equal(error.code, code)
  return true
}
