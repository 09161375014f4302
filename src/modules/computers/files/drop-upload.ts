/** Removes interrupted uploads whose senders lost permission to resume them. */
import type { Context, Engine } from '#infra/context.ts'
import type { JobHandler } from '#infra/jobs/jobs.ts'
import { Refusal } from '#core/errors.ts'
import type { Id } from '#core/ids.ts'
import type { Input } from '#daemon-protocol/operations.ts'
import type { HasLinks } from '../link/links.ts'
import { computerStore } from '../store.ts'

const JOB = 'computers.drop_upload'

interface DroppedUpload extends Input<'fs.upload_drop'> {
  computer_id: Id
}
type Payload = DroppedUpload & { tries: number }

const RETRY_SECONDS = 900
/** About 7 days, after which the daemon removes the part. */
const MAX_TRIES = (7 * 86_400) / RETRY_SECONDS

const jobKey = ({ computer_id, key }: DroppedUpload): string => `${JOB}:${computer_id}:${key}`

/** The removal survives server restarts. */
export async function dropUpload({ engine }: Context, upload: DroppedUpload): Promise<void> {
  await addJob(engine, { ...upload, tries: 0 })
}

export async function keepUpload({ engine: { jobs, postgres } }: Context, upload: DroppedUpload): Promise<void> {
  await jobs.remove(postgres, jobKey(upload))
}

async function addJob({ jobs, postgres }: Engine, upload: Payload): Promise<void> {
  const inSeconds = upload.tries === 0 ? 0 : Math.min(2 ** upload.tries, RETRY_SECONDS)
  await jobs.add(postgres, JOB, { ...upload }, { key: jobKey(upload), inSeconds })
}

/** The computer is unreachable, or a previous writer is still active. */
const RETRYABLE: ReadonlySet<string> = new Set([
  'computer_offline',
  'concurrency_limited',
  'interrupted',
  'shutting_down',
  'timeout',
  'unavailable',
])
/** Earlier daemons lack the operation and keep the part for 7 days. */
const FINAL: ReadonlySet<string> = new Set(['capability_denied', 'invalid_parameter', 'not_found', 'not_supported'])

export const uploadJobs = (engine: Engine<HasLinks>): Record<string, JobHandler> => ({
  async [JOB](upload: Payload, { signal }) {
    const { computer_id, path, key, tries } = upload
    if ((await computerStore.get(engine.postgres.db, computer_id)) === null) return
    try {
      await engine.links.ask(computer_id, 'fs.upload_drop', { path, key }, { signal })
    } catch (error) {
      const code = error instanceof Refusal ? error.code : ''
      if (FINAL.has(code)) return
      if (!RETRYABLE.has(code)) throw error
      if (tries < MAX_TRIES) await addJob(engine, { ...upload, tries: tries + 1 })
    }
  },
})
