import type { Input } from '#daemon-protocol/operations.ts'
import { pathText } from '#core/files/file-path.ts'
import type { Stream } from '#packages/mux/stream.ts'
import { mkdir, remove, stat } from './change.ts'
import { list } from './list.ts'
import { createParts } from './uploads/parts.ts'
import { read } from './reading/read.ts'
import { createRoots } from './within.ts'
import { start } from './start.ts'
import { dropUpload, uploadOffset, write } from './uploads/write.ts'
import type { Clock } from '../time/unused.ts'

const SWEEP_MS = 3_600_000

interface Places {
  allowed: readonly string[]
  shut?: readonly string[]
  folder: string
  /** Measures how long uploads are abandoned. Default: the machine's clock. */
  clock?: () => Clock
}

/**
 * File operations below the allowed folders (`--root`). `folder`: stores records of uploads. `shut`: never
 * accessible.
 */
export function createFiles({ allowed, shut = [], folder, clock }: Places) {
  const roots = createRoots(allowed, shut)
  const parts = createParts(roots, folder, clock)
  const sweep = (): Promise<void> => parts.sweep().catch(() => {})
  let sweeping = sweep()
  const timer = setInterval(() => void (sweeping = sweeping.then(sweep)), SWEEP_MS)
  type Call = { signal: AbortSignal }
  return {
    handlers: {
      'fs.list': (input: Input<'fs.list'>) => list(roots, input),
      'fs.stat': (input: Input<'fs.stat'>) => stat(roots, input),
      'fs.mkdir': (input: Input<'fs.mkdir'>) => mkdir(roots, input),
      'fs.remove': (input: Input<'fs.remove'>, stream: Stream, { signal }: Call) =>
        remove(roots, input, stream, signal),
      'fs.start': async () => ({ path: pathText(await start(roots, allowed)) }),
      'fs.read': (input: Input<'fs.read'>, stream: Stream, { signal }: Call) => read(roots, input, stream, signal),
      'fs.upload_offset': (input: Input<'fs.upload_offset'>) => uploadOffset({ roots, parts }, input),
      'fs.upload_drop': (input: Input<'fs.upload_drop'>) => dropUpload({ roots, parts }, input),
      'fs.write': (input: Input<'fs.write'>, stream: Stream, { signal }: Call) =>
        write({ roots, parts }, input, stream, signal),
    },
    async [Symbol.asyncDispose]() {
      clearInterval(timer)
      await sweeping
    },
  }
}
