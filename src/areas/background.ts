/** What the areas do when nobody waits: jobs by name, housekeeping, operations, and what follows from events. */
import type { Engine } from '#engine/context.ts'
import type { Consumer } from '#engine/deliveries.ts'
import { type JobHandler, type Schedule, every } from '#engine/jobs.ts'
import { sweepBlobs } from '#engine/blobs/sweep.ts'
import { emptyTrash } from '#engine/lifecycle.ts'
import { mailJobs } from '#engine/mail.ts'
import { retainSpends } from '#engine/ledger/retain.ts'
import { retainChanges } from '#engine/changes.ts'
import { accountSchedules } from './accounts/service.ts'
import { automationConsumer, automationSchedules, startAutomations } from './automations/service.ts'
import { interruptedCalls } from './chats/interrupted.ts'
import { goalConsumer, goalJobs, goalSchedules, sending } from './chats/service.ts'
import { driveSchedules } from './drive/service.ts'
import { textOperation } from './inference/service.ts'
import { notificationConsumer, notificationJobs, notificationSchedules } from './notifications/service.ts'
import { searchConsumer, searchJobs, searchSchedules } from './search/service.ts'
import { type OperationKind, operationSchedules, runOperations } from './operations/service.ts'
import { startSender, webhookConsumer, webhookSchedules } from './webhooks/service.ts'

export interface Background extends AsyncDisposable {
  handlers: Record<string, JobHandler>
  schedules: Schedule[]
  consumers: Consumer[]
}

/** Every kind of operation that an area starts. */
const kinds: readonly OperationKind[] = [textOperation, sending]

export function background(engine: Engine, furtherKinds: readonly OperationKind[] = []): Background {
  const operations = runOperations(engine, [...kinds, ...furtherKinds])
  const sender = startSender(engine)
  const automations = startAutomations(engine)
  return {
    handlers: {
      ...operations.handlers,
      ...searchJobs(engine),
      ...mailJobs(engine),
      ...notificationJobs(engine),
      ...goalJobs(engine),
    },
    schedules: [
      every('changes.retain', 3600, async () => void (await retainChanges(engine.postgres))),
      every('spends.retain', 86_400, () => retainSpends(engine.postgres)),
      every('trash.empty', 3600, async () => void (await emptyTrash(engine))),
      every('blobs.sweep', 3600, async ({ signal }) => void (await sweepBlobs(engine, { signal }))),
      ...driveSchedules(engine),
      ...searchSchedules(engine),
      ...accountSchedules(engine),
      ...operationSchedules(engine),
      ...notificationSchedules(engine),
      ...webhookSchedules(engine),
      ...automationSchedules(engine),
      ...goalSchedules(engine),
    ],
    consumers: [
      searchConsumer(engine),
      interruptedCalls(engine),
      notificationConsumer(engine),
      webhookConsumer(engine),
      automationConsumer(engine),
      goalConsumer(engine),
    ],
    async [Symbol.asyncDispose]() {
      await Promise.all([
        automations[Symbol.asyncDispose](),
        operations[Symbol.asyncDispose](),
        sender[Symbol.asyncDispose](),
      ])
    },
  }
}
