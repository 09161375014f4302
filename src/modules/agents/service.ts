import { isDeepStrictEqual } from 'node:util'
import type { Context } from '#infra/context.ts'
import { lifecycleOf } from '#authz/lifecycle.ts'
import {
  type ResourceRow,
  checkTarget,
  insertResource,
  lockResource,
  placeIn,
  touchResource,
  visibleWorkspaces,
} from '#authz/resources.ts'
import type { Db } from '#infra/postgres/client.ts'
import { sharedPlace } from '#authz/shares.ts'
import { finder } from '#core/context.ts'
import { absent, refuse } from '#core/errors.ts'
import { implementWith } from '#core/implement.ts'
import { type Id, newId } from '#core/ids.ts'
import { cursorOf, pageOf, positionOf, wholeAt } from '#core/paging.ts'
import { lendersOf } from '#core/lenders.ts'
import { nanoOrNull } from '#core/money.ts'
import { checkPlace } from '#authz/place.ts'
import { membershipIn } from '#core/principal.ts'
import type { Period } from '#core/time.ts'
import { agents } from './contract.ts'
import { withServers } from './servers.ts'
import { changed, definitionOf, showAgent, showVersion } from './show.ts'
import { type AgentRow, type OtherColumns, type CountedAgent, type Definition, agentStore } from './store.ts'

export type { AgentRow } from './store.ts'
export { agentSearchable } from './searchable.ts'
export { agentSecrets, outsideServers } from './servers.ts'

export interface AgentHandles {
  /**
   * Pauses automations whose agent the caller changes with fewer permissions than they have. Runs in the change's
   * transaction.
   */
  agentChanged(ctx: Context, agentId: Id): Promise<void>
  toolbox: { reach(name: string, args: Record<string, unknown>): { tool: string } | null }
}

const agent = finder('agent', (ctx: Context, id) => agentStore.find(ctx.engine.postgres, id))

export const agentService = implementWith<Context<AgentHandles>>()(
  agents,
  {
    async list(ctx, { workspace_id, status, cursor, limit }) {
      const workspaces = visibleWorkspaces(ctx, 'agent:read', workspace_id)
      const filters = { workspace_id, status }
      const before = positionOf('agents', filters, cursor)
      const rows = await agentStore.list(ctx.engine.postgres, {
        workspaces,
        status,
        before: (before?.[0] as Id) ?? null,
        limit: limit + 1,
      })
      return pageOf(rows, limit, ({ id }) => cursorOf('agents', filters, [id]), showAgent)
    },

    get: (ctx) => showAgent(agent.of(ctx)),

    create: (ctx, input) =>
      ctx.transaction(async (ctx) => {
        const id = newId()
        const { mcp_servers, sealed_headers } = withServers(ctx, id, null, input.mcp_servers)
        checkTools(ctx, input.tools, [])
        await checkSubagents(ctx, id, ctx.workspace!.id, input.subagents)
        const definition = definitionOf({ ...input, mcp_servers })
        return insert(ctx, ctx.workspace!.id, id, definition, { ...budgetOf(input), sealed_headers })
      }),

    update: (ctx, { id, spend_cap_usd, spend_cap_period, mcp_servers, ...changes }) =>
      ctx.transaction(async (ctx) => {
        // Locked before reading, so that the second of two concurrent changes sees the first.
        await lockResource(ctx, 'agent', id)
        const current = await getAgent(ctx, id)
        const servers = mcp_servers && withServers(ctx, id, current, mcp_servers)
        if (changes.tools) checkTools(ctx, changes.tools, current.tools)
        if (changes.subagents) await checkSubagents(ctx, id, current.workspace_id, changes.subagents)
        const definition = changed(definitionOf(current), { ...changes, mcp_servers: servers?.mcp_servers })
        const budget = budgetOf({ spend_cap_usd, spend_cap_period })
        const isMember = membershipIn(ctx.principal, current.workspace_id) !== null
        // The caller becomes responsible for the tools they set, even unchanged ones.
        const sets = isMember && (changes.tools ?? changes.subagents ?? servers) !== undefined
        const otherColumns = {
          ...budget,
          ...(servers && { sealed_headers: servers.sealed_headers }),
          ...(sets && { tools_by: lendersOf(ctx.principal) }),
        }
        const isUnchanged = isDeepStrictEqual(definition, definitionOf(current))
        if (isUnchanged && isDeepStrictEqual({ ...current, ...otherColumns }, current)) return showAgent(current)
        // Tools act with the permissions of the agent's user, so only members can change them.
        if (!isMember && !isDeepStrictEqual(definition.tools, current.tools)) membersOnly('tools')
        if (!isMember && servers) membersOnly('mcp_servers')
        if (!isMember && !isDeepStrictEqual(definition.subagents, current.subagents)) membersOnly('subagents')
        if (!isMember && Object.keys(budget).length > 0) membersOnly('spend_cap_usd')
        const register = await touchResource(ctx, 'agent', id)
        if (Object.keys(otherColumns).length > 0) await agentStore.updateOtherColumns(ctx.db, id, otherColumns)
        if (!isUnchanged) {
          await keepVersion(ctx, id, await agentStore.update(ctx.db, id, definition), definition)
          await ctx.engine.agentChanged(ctx, id)
        }
        await emitAgentEvent(ctx, 'updated', register)
        return showAgent(await getAgent(ctx, id))
      }),

    ...lifecycleOf({ kind: 'agent', read: async (ctx, id) => showAgent(await getAgent(ctx, id)) }),

    async move(ctx, { id, workspace_id }) {
      checkTarget(ctx, workspace_id, 'agent:write')
      const from = agent.of(ctx).workspace_id
      if (from === workspace_id) return showAgent(agent.of(ctx))
      return ctx.transaction(async (ctx) => {
        const register = await touchResource(ctx, 'agent', id, { workspace_id })
        await emitAgentEvent(ctx, 'moved', register, [`workspace:${from}`])
        return showAgent(await getAgent(ctx, id))
      })
    },

    copy_to_workspace(ctx, { workspace_id }) {
      checkTarget(ctx, workspace_id, 'agent:write')
      const { mcp_servers, ...definition } = definitionOf(agent.of(ctx))
      // Readers can copy an agent, but its secrets stay behind.
      const serversWithoutSecrets = mcp_servers.map((server) => ({ ...server, header_names: [] }))
      return ctx.transaction((ctx) =>
        insert(ctx, workspace_id, newId(), { ...definition, mcp_servers: serversWithoutSecrets }, {}),
      )
    },

    async versions(ctx, { id, cursor, limit }) {
      const before = wholeAt(positionOf('agent_versions', id, cursor), 0)
      const rows = await agentStore.versions(ctx.db, id, before, limit + 1)
      return pageOf(rows, limit, ({ version }) => cursorOf('agent_versions', id, [version]), showVersion)
    },
  },
  [agent],
)

/** Returns an agent referenced by another resource. Throws `not_found` with `param` if it is missing or unreadable. */
export async function agentFor(ctx: Context, id: Id, param = 'agent_id'): Promise<AgentRow> {
  return readableAgent(ctx, await agentStore.get(ctx.db, id), param, id)
}

export function readableAgent(ctx: Context, row: AgentRow | undefined, param = 'agent_id', id = ''): AgentRow {
  const notFound = { param, message: absent('agent', id) }
  if (row === undefined || row.status === 'trashed') return refuse('not_found', notFound)
  checkPlace(placeIn(ctx, row.workspace_id, notFound), 'agent:read')
  return row
}

/**
 * Returns an agent that a resource in this workspace can use: one of the workspace, or one shared with the caller.
 * Throws `not_found`.
 */
export async function agentWithin(ctx: Context, id: Id, workspaceId: Id, param = 'agent_id'): Promise<AgentRow> {
  const row = await agentStore.get(ctx.db, id)
  const isSameWorkspace = row?.workspace_id === workspaceId
  if (row && row.status !== 'trashed' && (isSameWorkspace || (await sharedPlace(ctx.db, ctx.principal, 'agent', row))))
    return row
  return readableAgent(ctx, row, param)
}

/** An unknown name would silently offer or deny nothing. Names already in use can stay. */
function checkTools(
  { engine }: Context<AgentHandles>,
  tools: Definition['tools'],
  currentTools: Definition['tools'],
): void {
  for (const [i, { name }] of tools.entries()) {
    const canonicalName = engine.toolbox.reach(name, {})?.tool
    if (
      canonicalName === name ||
      canonicalName === name.replace('_', '.') ||
      currentTools.some((tool) => tool.name === name)
    )
      continue
    refuse('invalid_parameter', {
      param: `tools.${i}.name`,
      message:
        canonicalName === undefined
          ? `The tool \`${name}\` doesn’t exist. Use \`find\`, \`describe\`, \`do\`, or an endpoint such as \`drive.list\`.`
          : `This tool is called \`${canonicalName}\`. Use that name.`,
    })
  }
}

async function checkSubagents(
  ctx: Context,
  id: Id,
  workspaceId: Id,
  subagents: Definition['subagents'],
): Promise<void> {
  for (const [i, { agent_id }] of subagents.entries()) {
    const param = `subagents.${i}.agent_id`
    if (agent_id === id) refuse('invalid_parameter', { param, message: 'An agent can’t delegate tasks to itself.' })
    await agentWithin(ctx, agent_id, workspaceId, param)
  }
}

/** Skips access checks. Missing agents are absent. */
export const agentsById = async (db: Db, ids: readonly Id[]): Promise<Map<Id, AgentRow>> =>
  new Map((await agentStore.some(db, ids)).map((row) => [row.id, row]))

/**
 * Returns the agent of a resource that the caller can run: for one in the same workspace, they need no read access, as
 * with a shared chat. Null if it was deleted.
 */
export async function agentBehind(ctx: Context, id: Id, workspaceId: Id): Promise<AgentRow | null> {
  return agentWithin(ctx, id, workspaceId).catch(() => null)
}

const membersOnly = (param: string): never =>
  refuse('insufficient_role', {
    param,
    message: `This agent is shared with you. Only members of its workspace can change \`${param}\`.`,
  })

const budgetOf = (budgetInput: {
  spend_cap_usd?: number | null | undefined
  spend_cap_period?: Period | undefined
}): OtherColumns => ({
  ...(budgetInput.spend_cap_usd !== undefined && { spend_cap_nano: nanoOrNull(budgetInput.spend_cap_usd) }),
  ...(budgetInput.spend_cap_period !== undefined && { spend_cap_period: budgetInput.spend_cap_period }),
})

/** The caller becomes responsible for the tools, also of a copy. */
async function insert(ctx: Context, workspace_id: Id, id: Id, definition: Definition, beside: OtherColumns) {
  const register = await insertResource(ctx, { id, kind: 'agent', workspace_id })
  await agentStore.insert(ctx.db, id, definition, { ...beside, tools_by: lendersOf(ctx.principal) })
  await keepVersion(ctx, id, 1, definition)
  await emitAgentEvent(ctx, 'created', register)
  return showAgent(await getAgent(ctx, id))
}

const keepVersion = (ctx: Context, agent_id: Id, version: number, definition: Definition): Promise<void> =>
  agentStore.insertVersion(ctx.db, {
    id: newId(),
    agent_id,
    version,
    definition,
    created_by: ctx.principal.accountId,
  })

const getAgent = async (ctx: Context, id: Id): Promise<CountedAgent> =>
  (await agentStore.get(ctx.db, id)) ?? refuse('not_found', { param: 'id' })

const emitAgentEvent = (ctx: Context, verb: string, { id, workspace_id, status }: ResourceRow, also: string[] = []) =>
  ctx.emit({
    type: `agent.${verb}`,
    channels: [`workspace:${workspace_id}`, ...also],
    resource: { type: 'agent', id },
    data: { id, workspace_id, status },
  })
