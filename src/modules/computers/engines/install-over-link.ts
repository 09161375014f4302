/** An installation that survives lost links. */
import type { ReadableFile } from '#modules/drive/service.ts'
import { Refusal, refuse } from '#core/errors.ts'
import type { Id } from '#core/ids.ts'
import { type Input, InstallProgress, type Output } from '#daemon-protocol/operations.ts'
import { LinkLost, StreamReset } from '#packages/mux/stream.ts'
import type { z } from 'zod'
import type { AskedStream } from '#daemon-protocol/link.ts'
import type { Links } from '../link/links.ts'

const RETRY_MS = 250
/** Covers computers switched off for days. */
const PATIENCE_MS = 7 * 86_400_000

interface Installation {
  computerId: Id
  input: Input<'engine.install'>
  /** For an `upload` source. */
  file: ReadableFile | null
  signal: AbortSignal
  progress(progress: z.output<typeof InstallProgress>): void
}

export async function installOverLink(
  links: Links,
  { computerId, input, file, signal, progress }: Installation,
): Promise<Output<'engine.install'>> {
  let lostAt: number | null = null
  for (;;) {
    try {
      const stream = await links.open(computerId, 'engine.install', input, { signal })
      for await (const item of stream) {
        lostAt = null
        if (item.type !== 'event') continue
        const report = InstallProgress.safeParse(item.event)
        if (report.success) progress(report.data)
        else if (file !== null) feed(stream, file, Number((item.event as { offset?: unknown }).offset))
      }
      return await stream.output
    } catch (error) {
      signal.throwIfAborted()
      // `shutting_down` makes an operation resume, which is only right for this server's shutdown.
      if (error instanceof StreamReset || (error instanceof Refusal && error.code === 'shutting_down'))
        refuse('interrupted', { message: `The installation failed: ${error.message.replace(/\.$/, '')}.` })
      if (!(error instanceof LinkLost || (lostAt !== null && isOffline(error)))) throw error
      lostAt ??= Date.now()
      const remainingMs = lostAt + PATIENCE_MS - Date.now()
      if (remainingMs <= 0 || !(await waitForReconnect(links, computerId, remainingMs, signal)))
        refuse('computer_offline', {
          message: 'The connection to the computer was lost during the installation and wasn’t restored.',
        })
      await new Promise((resolve) => setTimeout(resolve, RETRY_MS))
    }
  }
}

const isOffline = (error: unknown): boolean => error instanceof Refusal && error.code === 'computer_offline'

async function waitForReconnect(links: Links, id: Id, waitMs: number, signal: AbortSignal): Promise<boolean> {
  const until = Date.now() + waitMs
  while (Date.now() < until) {
    if (await links.online(id, Math.min(1_000, until - Date.now()))) return true
    signal.throwIfAborted()
  }
  return false
}

function feed(stream: AskedStream<'engine.install'>, file: ReadableFile, from: number): void {
  void (async () => {
    if (!Number.isSafeInteger(from) || from < 0 || from > file.size) return stream.reset('an offset that cannot be')
    let at = from
    if (at < file.size)
      for await (const bytes of file.read(from)) {
        await stream.write(bytes, 0, at)
        at += bytes.length
      }
    stream.finish()
  })().catch((error: unknown) => {
    // The stream reports lost links, but not unreadable bytes.
    stream.reset(error instanceof Refusal ? error.message : 'the bytes of the file could not be read')
  })
}
