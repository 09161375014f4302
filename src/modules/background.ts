/** Background work of the modules: jobs by name, housekeeping, operations and event consumers. */
import type { Engine } from '#infra/context.ts'
import type { Consumer } from '#infra/outbox/deliveries.ts'
import type { JobHandler } from '#infra/jobs/jobs.ts'
import { type Schedule, every } from '#infra/jobs/schedules.ts'
import { sweepBlobs } from '#infra/blobs/sweep.ts'
import { resealAll } from '#infra/reseal.ts'
import { emptyTrash } from '#authz/lifecycle.ts'
import { mailJobs } from '#infra/mail/mail.ts'
import { retainKeptItems } from '#infra/kept-items.ts'
import { retainSpends } from '#infra/ledger/retain.ts'
import { retainRequestLog } from '#infra/request-log/request-log.ts'
import { retainChanges } from '#infra/outbox/changes.ts'
import { doorJobs } from './earlier-doors.ts'
import { recoveryJobs } from './accounts/recovery/recovery.ts'
import { accountSchedules } from './accounts/service.ts'
import { watchSetup } from './accounts/sign-in/setup.ts'
import { connectionSchedules } from './ai-gateway/service.ts'
import { automationConsumer, automationSchedules, startAutomations } from './automations/service.ts'
import { interruptedCalls } from './chats/runs/interrupted.ts'
import {
  deletedRunSchedules,
  goalConsumer,
  goalJobs,
  goalSchedules,
  requestSchedules,
  sendOperation,
  temporarySchedules,
} from './chats/service.ts'
import {
  computerSchedules,
  createOperation,
  endUnwantedCommands,
  execOperation,
  installOperation,
  localModelConsumer,
  snapshotOperation,
  uploadJobs,
} from './computers/service.ts'
import { driveSchedules } from './drive/service.ts'
import { textOperation } from './inference/service.ts'
import { mediaOperations, mediaSchedules, videoShelfSchedules } from './media/service.ts'
import {
  notificationConsumer,
  notificationJobs,
  notificationSchedules,
  resealPushKey,
} from './notifications/service.ts'
import { searchConsumer, searchWork } from './search/service.ts'
import { type OperationKind, operationSchedules, runOperations } from './operations/service.ts'
import type { Handles } from './services.ts'
import { sealed } from './sealed.ts'
import { startSender, webhookConsumer, webhookSchedules } from './webhooks/service.ts'

export interface Background extends AsyncDisposable {
  handlers: Record<string, JobHandler>
  schedules: Schedule[]
  consumers: Consumer[]
}

const kinds: readonly OperationKind<object, Handles>[] = [
  textOperation,
  ...mediaOperations,
  sendOperation,
  execOperation,
  createOperation,
  snapshotOperation,
  installOperation,
]

export function background(
  engine: Engine<Handles>,
  furtherKinds: readonly OperationKind<object, Handles>[] = [],
): Background {
  const operations = runOperations(engine, [...kinds, ...furtherKinds], [engine.cloud.hostId].filter(Boolean))
  const sender = startSender(engine)
  const setup = watchSetup(engine)
  const automations = startAutomations(engine)
  const search = searchWork(engine)
  const ending = endUnwantedCommands(engine)
  const closing = new AbortController()
  const resealing = Promise.all([resealAll(engine, sealed, closing.signal), resealPushKey(engine)]).catch(
    (error: unknown) => engine.log.warn({ error }, 'stored secrets were not re-encrypted'),
  )
  return {
    handlers: {
      ...operations.handlers,
      ...search.handlers,
      ...mailJobs(engine),
      ...recoveryJobs(engine),
      ...doorJobs(engine),
      ...notificationJobs(engine),
      ...goalJobs(engine),
      ...uploadJobs(engine),
    },
    schedules: [
      every('changes.retain', 3600, async () => void (await retainChanges(engine.postgres))),
      every('spends.retain', 86_400, () => retainSpends(engine.postgres)),
      every('request_log.retain', 3600, () => retainRequestLog(engine.postgres, engine.config.requestRetentionDays)),
      every('kept_items.retain', 3600, () => retainKeptItems(engine.postgres)),
      every('trash.empty', 3600, async () => void (await emptyTrash(engine))),
      every('blobs.sweep', 3600, async ({ signal }) => void (await sweepBlobs(engine, { signal }))),
      ...connectionSchedules(engine),
      ...computerSchedules(engine),
      ...driveSchedules(engine),
      ...search.schedules,
      ...accountSchedules(engine),
      ...operationSchedules(engine),
      ...notificationSchedules(engine),
      ...webhookSchedules(engine),
      ...automationSchedules(engine),
      ...goalSchedules(engine),
      ...mediaSchedules(engine),
      ...videoShelfSchedules(engine),
      ...requestSchedules(engine),
      ...deletedRunSchedules(engine),
      ...temporarySchedules(engine),
    ],
    consumers: [
      searchConsumer(engine),
      interruptedCalls(engine),
      notificationConsumer(engine),
      webhookConsumer(engine),
      automationConsumer(engine),
      goalConsumer(engine),
      localModelConsumer(engine),
    ],
    async [Symbol.asyncDispose]() {
      closing.abort()
      await Promise.all([
        resealing,
        automations[Symbol.asyncDispose](),
        operations[Symbol.asyncDispose](),
        ending[Symbol.asyncDispose](),
        sender[Symbol.asyncDispose](),
        setup[Symbol.asyncDispose](),
      ])
    },
  }
}
