import type { Context } from '#infra/context.ts'
import type { CallerSocket } from '#infra/caller-socket.ts'
import type { Db } from '#infra/postgres/client.ts'
import { every } from '#infra/jobs/schedules.ts'
import { visibleWorkspaces } from '#authz/resources.ts'
import { finder } from '#core/context.ts'
import { refuse } from '#core/errors.ts'
import { implementWith } from '#core/implement.ts'
import type { Id } from '#core/ids.ts'
import type { Capability, Scope } from '#core/scopes.ts'
import { cursorOf, pageOf, positionOf } from '#core/paging.ts'
import { membershipIn } from '#core/principal.ts'
import { checkManages, checkMayUse, placeWith, accessPaths } from './access.ts'
import { computers } from './contract.ts'
import { attach } from './contract-terminals.ts'
import { snapshotPage } from './drivers/cloud-service.ts'
import { start, stop } from './drivers/actions.ts'
import type { HasCloud } from './drivers/handle.ts'
import { snapshot } from './drivers/snapshots.ts'
import {
  type EngineHandles,
  cancelInstallation,
  controlEngine,
  listModels,
  listOperations,
  mapModel,
  removeModel,
} from './engines/control.ts'
import { installModel } from './engines/install.ts'
import { exec } from './exec/exec.ts'
import { openStdins } from './exec/open-stdins.ts'
import { writeStdin } from './exec/write-stdin.ts'
import { runningCommands } from './exec/background/running-commands.ts'
import { download } from './files/download.ts'
import { fs } from './files/fs.ts'
import { upload, uploadOffset } from './files/upload.ts'
import type { HasLinks } from './link/links.ts'
import { publishEvent } from './events.ts'
import { testConnection } from './link/test-connection.ts'
import { audit, change, recheckGrants, touch } from './manage.ts'
import { rotateCredential } from './link/rotate-credential.ts'
import { redeem } from './pairing/redeem.ts'
import { pairingStore } from './pairing/store.ts'
import { labelPort, listPorts, portTicket } from './ports/ports.ts'
import { ticketStore } from './tickets/store.ts'
import { changeExposure, expose, withdraw } from './sharing/exposures.ts'
import { transfer } from './sharing/transfer.ts'
import { showComputer } from './show.ts'
import { computerStore } from './store.ts'
import { openAttach } from './terminals/attach.ts'
import { terminal } from './terminals/actions.ts'
import { redeemTicket, terminalTicket } from './terminals/ticket.ts'
import { createUser, deleteUser, getUser, listUsers, updateUser } from './users/users.ts'

export { computerSearchable } from './searchable.ts'
export { checkCommand, startCommand } from './exec/command.ts'
export { createOperation } from './drivers/actions.ts'
export { cloudService } from './drivers/cloud-service.ts'
export { snapshotOperation } from './drivers/snapshots.ts'
export { installOperation } from './engines/install.ts'
export { createMachines } from './engines/machines.ts'
export { localModelConsumer } from './engines/learn.ts'
export { endUnwantedCommands } from './exec/background/ending.ts'
export { uploadJobs } from './files/drop-upload.ts'
export { execOperation } from './exec/background/operation.ts'
export { pairingService } from './pairing/pairings.ts'
export { type Machine, findMachine } from './pairing/credentials.ts'

const computer = finder('computer', async ({ db, principal }: Context, id) => {
  const row = await computerStore.get(db, id)
  const place = row && placeWith(accessPaths(principal, row))
  if (row === null || place === null) return null
  return {
    id,
    workspace_id: row.workspace_id,
    updated_at: row.updated_at,
    place,
    row,
    checkCapability: (capability: Capability, scope: Scope | null) =>
      checkMayUse(principal, row, capability, scope ?? undefined),
  }
})

export const computerService = implementWith<Context<EngineHandles & HasCloud>>()(
  computers,
  {
    async list(ctx, { owner, workspace_id, cursor, limit }) {
      const workspaces = visibleWorkspaces(ctx, 'computer:read', workspace_id)
      const filters = { owner, workspace_id }
      const before = positionOf('computers', filters, cursor)
      const { personalWorkspaceId } = ctx.principal
      const mine = owner === 'me' ? personalWorkspaceId : null
      // A workspace-limited key can't act for the account.
      if (mine !== null && membershipIn(ctx.principal, mine) === null) return { rows: [], next: null }
      const rows = await computerStore.list(ctx.db, {
        workspaces,
        ownedBy: mine,
        before: (before?.[0] as Id) ?? null,
        limit: limit + 1,
      })
      return pageOf(
        rows,
        limit,
        ({ id }) => cursorOf('computers', filters, [id]),
        (row) => showComputer(ctx.principal, row),
      )
    },

    get: (ctx) => showComputer(ctx.principal, computer.of(ctx).row),

    // The request pipeline refuses it earlier.
    create: () => refuse('pair_from_machine'),

    update: (ctx, { id, name }) =>
      change(ctx, id, 'admin', async (ctx, before) => {
        if (name === undefined || name === before.name) return showComputer(ctx.principal, before)
        await computerStore.update(ctx.db, id, { name })
        const row = await touch(ctx, id)
        await publishEvent(ctx, 'updated', row)
        return showComputer(ctx.principal, row)
      }),

    async delete(ctx, { id }) {
      await change(ctx, id, 'owner', async (ctx, before) => {
        const workspaces = [before.workspace_id, ...before.exposures.map((one) => one.workspace_id)]
        await ctx.db.deleteFrom('resources').where('id', '=', id).execute()
        await recheckGrants(ctx, workspaces)
        await publishEvent(ctx, 'deleted', before)
        await audit(ctx, 'deleted', before, { withdrawn_from: workspaces.slice(1) })
        if (before.kind === 'cloud') ctx.afterCommit(() => ctx.engine.bus.poke('cloud_computers'))
      })
      await ctx.engine.rights.refresh()
      return { id }
    },

    expose,
    change_exposure: changeExposure,
    withdraw,
    transfer: async (ctx, input) => showComputer(ctx.principal, await transfer(ctx, input)),

    rotate_credential: rotateCredential,
    test_connection: (ctx) => testConnection(ctx, computer.of(ctx).row),

    start: (ctx, { id }) => start(ctx, id),
    stop: (ctx, { id }) => stop(ctx, id),
    snapshot: (ctx, { id, name }) => snapshot(ctx, id, name),
    snapshots(ctx, { id, cursor, limit }) {
      const { row } = computer.of(ctx)
      checkManages(ctx.principal, row, 'computer:read', 'viewer')
      return snapshotPage(ctx, { workspaces: [row.workspace_id], computerId: id }, { id }, cursor, limit)
    },

    exec: (ctx, input) => exec(ctx, computer.of(ctx).row, input),
    exec_stdin: writeStdin,

    terminal,
    terminal_ticket: terminalTicket,

    local_inference: (ctx, input) => controlEngine(ctx, computer.of(ctx).row, input),
    local_models: (ctx, input) => listModels(ctx, computer.of(ctx).row, input),
    install_local_model: (ctx, input) => installModel(ctx, computer.of(ctx).row, input),
    remove_local_model: (ctx, { local_model_id }) => removeModel(ctx, computer.of(ctx).row, local_model_id),
    map_local_model: (ctx, { local_model_id, model }) => mapModel(ctx, computer.of(ctx).row, local_model_id, model),
    local_operations: (ctx, input) => listOperations(ctx, computer.of(ctx).row, input),
    cancel_local_operation: (ctx, { operation_id }) => cancelInstallation(ctx, computer.of(ctx).row, operation_id),

    fs: (ctx, input) => fs(ctx, computer.of(ctx).row, input),
    download,
    upload_offset: uploadOffset,
    upload,

    ports: listPorts,
    label_port: labelPort,
    port_ticket: portTicket,

    users: listUsers,
    create_user: createUser,
    user: getUser,
    update_user: updateUser,
    delete_user: deleteUser,

    pair: redeem,
  },
  [computer],
)

export const computersExposedTo = (db: Db, workspaces: readonly Id[]): Promise<Id[]> =>
  computerStore.exposedTo(db, workspaces)

export const attachSocket: CallerSocket<HasLinks> = {
  name: 'computers.attach',
  endpoint: attach,
  finder: computer,
  open: openAttach,
  redeem: redeemTicket,
}

export const computerSchedules = ({ postgres: { db } }: Pick<Context['engine'], 'postgres'>) => [
  every('computer_pairings.retain', 3_600, () => pairingStore.retain(db)),
  every('computer_commands.retain', 86_400, () => runningCommands.retain(db)),
  every('open_stdins.retain', 86_400, () => openStdins.retain(db)),
  every('computer_tickets.retain', 3_600, () => ticketStore.retain(db)),
]
