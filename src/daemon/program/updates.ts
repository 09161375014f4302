import { setTimeout as sleep } from 'node:timers/promises'
import type { DaemonHello, ServerHello } from '#daemon-protocol/hello.ts'
import type { DaemonState } from '../state.ts'
import { type Offer, Refused, downloadRelease } from './download.ts'
import { checkVersion } from './try-out.ts'
import { type Version, noteFailed, readFailed } from './versions.ts'

const FIRST_WAIT_MS = 5_000
const LONGEST_WAIT_MS = 3_600_000

/**
 * Whether the server may update this program. A server that may run commands or open terminals can already run any
 * code as this user. Otherwise the owner must have allowed it (`--update`).
 */
export const mayUpdate = ({ updates, allows }: Pick<DaemonState, 'updates' | 'allows'>): boolean =>
  updates ?? (allows.includes('exec') || allows.includes('terminal'))

/** Disposing cancels the download and removes its files. */
export interface Updates extends AsyncDisposable {
  hello(): Pick<DaemonHello, 'release' | 'failed_update'>
  offered(offer: ServerHello['update']): void
  /** Resolves with a complete version, after it checked that it can run here. */
  ready: Promise<Version>
}

export async function followUpdates(own: Version, url: string, say: (line: string) => void): Promise<Updates> {
  const leaving = new AbortController()
  const { signal } = leaving
  const ready = Promise.withResolvers<Version>()
  let failed = await readFailed(own.place)
  let taking: Promise<void> | null = null

  async function take(offer: Offer): Promise<void> {
    await sleep(offer.wait_ms, undefined, { signal }).catch(() => {})
    const called = `version ${offer.version} (${offer.sha256.slice(0, 12)})`
    for (let wait = FIRST_WAIT_MS; !signal.aborted; wait = Math.min(wait * 2, LONGEST_WAIT_MS))
      try {
        say(`the server offers ${called}`)
        const version = await downloadRelease(url, offer, own.place, signal)
        const wrong = await checkVersion(version, signal)
        if (wrong !== null) throw new Refused(wrong)
        return ready.resolve(version)
      } catch (error) {
        if (signal.aborted) return
        const why = error instanceof Error ? error.message : String(error)
        if (error instanceof Refused) {
          say(`rejected ${called}: ${why}`)
          await noteFailed(own.place, offer.sha256, why)
          failed = await readFailed(own.place)
          return
        }
        say(`can't download ${called} yet: ${why}; retrying`)
        await sleep(wait, undefined, { signal }).catch(() => {})
      }
  }

  return {
    ready: ready.promise,
    hello: () => ({
      release: own.release,
      failed_update: failed && { sha256: failed.sha256, why: failed.why },
    }),
    offered(offer) {
      if (offer === null || taking !== null || offer.sha256 === own.release || offer.sha256 === failed?.sha256) return
      taking = take(offer)
        .catch((error: unknown) => say(`update failed: ${(error as Error).message}`))
        .finally(() => (taking = null))
    },
    async [Symbol.asyncDispose]() {
      leaving.abort()
      await taking
    },
  }
}
