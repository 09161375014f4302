import { typedNumber } from '../../ui/text/typed-number.ts'
import type { AgentChanges, AgentVersion } from '../queries.ts'
import type { Agent } from '../../shared/agents/queries.ts'
import type { Tools } from './tool-groups.ts'

export interface AgentDraft {
  name: string
  description: string
  system_prompt: string
  model: string | null
  tools: Tools
  subagents: Agent['subagents']
  mcp_servers: Agent['mcp_servers']
  max_turns: string
  output_schema: string
  spend_cap_usd: string
  spend_cap_period: Agent['spend_cap_period']
}

export const draftOf = (agent: Agent): AgentDraft => ({
  name: agent.name,
  description: agent.description ?? '',
  system_prompt: agent.system_prompt ?? '',
  model: agent.model,
  tools: agent.tools,
  subagents: agent.subagents,
  mcp_servers: agent.mcp_servers,
  max_turns: agent.max_turns === null ? '' : String(agent.max_turns),
  output_schema: agent.output_schema === null ? '' : JSON.stringify(agent.output_schema, null, 2),
  spend_cap_usd: agent.spend_cap_usd === null ? '' : String(agent.spend_cap_usd),
  spend_cap_period: agent.spend_cap_period,
})

/** A server to save. Its headers are never returned, and are kept unless sent again. */
export const serverChanges = ({ name, url, policy, tools, timeout_seconds }: Agent['mcp_servers'][number]) => ({
  name,
  url,
  policy,
  tools,
  timeout_seconds,
})

const textOrNull = (words: string): string | null => (words.trim() === '' ? null : words)

/** Parses the typed schema. Invalid JSON is sent unchanged, so that the server's error explains the problem. */
function schemaOf(words: string): AgentChanges['output_schema'] {
  if (words.trim() === '') return null
  try {
    return JSON.parse(words) as Record<string, unknown>
  } catch {
    // The wrong type makes the server name the field in its error.
    return words as unknown as Record<string, unknown>
  }
}

export function changesOf(agent: Agent, draft: AgentDraft): AgentChanges | null {
  const saved = draftOf(agent)
  const same = (field: keyof AgentDraft): boolean => JSON.stringify(saved[field]) === JSON.stringify(draft[field])
  const changes: AgentChanges = {
    ...(!same('name') && { name: draft.name }),
    ...(!same('description') && { description: textOrNull(draft.description) }),
    ...(!same('system_prompt') && { system_prompt: textOrNull(draft.system_prompt) }),
    ...(!same('model') && { model: draft.model }),
    ...(!same('tools') && { tools: draft.tools }),
    ...(!same('subagents') && { subagents: draft.subagents }),
    ...(!same('mcp_servers') && { mcp_servers: draft.mcp_servers.map(serverChanges) }),
    ...(!same('max_turns') && { max_turns: draft.max_turns.trim() === '' ? null : typedNumber(draft.max_turns) }),
    ...(!same('output_schema') && { output_schema: schemaOf(draft.output_schema) }),
    ...(!same('spend_cap_usd') && {
      spend_cap_usd: draft.spend_cap_usd.trim() === '' ? null : typedNumber(draft.spend_cap_usd),
    }),
    ...(!same('spend_cap_period') && { spend_cap_period: draft.spend_cap_period }),
  }
  return Object.keys(changes).length === 0 ? null : changes
}

/** The changes that restore a version. Versions don't include the spend cap. */
export const backTo = (version: AgentVersion): AgentChanges => ({
  name: version.name,
  description: version.description,
  system_prompt: version.system_prompt,
  model: version.model,
  tools: version.tools,
  subagents: version.subagents,
  mcp_servers: version.mcp_servers.map(serverChanges),
  max_turns: version.max_turns,
  output_schema: version.output_schema,
})
