import type { AgentVersion } from '../queries.ts'

export type Change =
  | { part: string; kind: 'text'; before: string; after: string }
  | { part: string; kind: 'list'; gone: string[]; added: string[] }

const list = (part: string, before: readonly string[], after: readonly string[]): Change[] => {
  const gone = before.filter((one) => !after.includes(one))
  const added = after.filter((one) => !before.includes(one))
  return gone.length + added.length === 0 ? [] : [{ part, kind: 'list', gone, added }]
}
const text = (part: string, before: string | null, after: string | null): Change[] =>
  (before ?? '') === (after ?? '') ? [] : [{ part, kind: 'text', before: before ?? '', after: after ?? '' }]

const value = (part: string, before: string | number | null, after: string | number | null): Change[] =>
  list(part, before === null ? [] : [String(before)], after === null ? [] : [String(after)])

const saysPolicy = { allow: 'allow', ask: 'ask', deny: 'never' } as const
const toolsOf = ({ tools }: AgentVersion): string[] => tools.map(({ name, policy }) => `${name}: ${saysPolicy[policy]}`)
const serversOf = ({ mcp_servers }: AgentVersion): string[] =>
  mcp_servers.map(({ name, url, policy, tools }) =>
    [`${name} (${url}): ${saysPolicy[policy]}`, ...tools.map((one) => `${one.name} ${saysPolicy[one.policy]}`)].join(
      ', ',
    ),
  )
const json = (schema: unknown): string | null => (schema === null ? null : JSON.stringify(schema, null, 2))

/** The changes between two versions. `nameOf` resolves agent names. */
export const changesBetween = (
  before: AgentVersion,
  after: AgentVersion,
  nameOf: (id: string) => string = (id) => id,
): Change[] => [
  ...value('Name', before.name, after.name),
  ...text('Description', before.description, after.description),
  ...text('Instructions', before.system_prompt, after.system_prompt),
  ...value('Model', before.model, after.model),
  ...list('Tools', toolsOf(before), toolsOf(after)),
  ...list('MCP servers', serversOf(before), serversOf(after)),
  ...list(
    'Subagents',
    before.subagents.map(({ agent_id, policy }) => `${nameOf(agent_id)}: ${saysPolicy[policy]}`),
    after.subagents.map(({ agent_id, policy }) => `${nameOf(agent_id)}: ${saysPolicy[policy]}`),
  ),
  ...text('Output schema', json(before.output_schema), json(after.output_schema)),
  ...value('Steps per run', before.max_turns, after.max_turns),
]
