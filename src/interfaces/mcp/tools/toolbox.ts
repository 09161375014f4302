import { scopeOf } from '#core/access.ts'
import type { ToolTarget } from '#core/answers.ts'
import { type ListedEndpoint, inputSchema } from '#core/registry.ts'
import { convert } from '../../schemas.ts'
import { createAgentTools, type ToolCall } from './agent-tools.ts'
import { type Card, createCatalogue } from '../catalogue/catalogue.ts'
import type { AgentCaller } from './door.ts'
import { type ToolResult, isTool, tools } from './tools.ts'

/** A model tool. Function names can't contain dots, so `drive.list` becomes `drive_list`. */
export interface OfferedTool {
  name: string
  description: string
  parameters: object
}

/** The registry as tools for a model in this server: the three MCP tools, and endpoints by name. */
export interface Toolbox {
  offer(names: readonly string[]): OfferedTool[]
  reach(name: string, given: Record<string, unknown>): ToolTarget | null
  /** Never throws: errors are results with `isError`. */
  run(name: string, given: Record<string, unknown>, caller: AgentCaller, call: ToolCall): Promise<ToolResult>
}

const reachedOf = ({ name, listed: { endpoint } }: Card) => ({
  endpoint: name,
  repeatable: endpoint.method === 'GET',
  consent: endpoint.consent === undefined ? null : { scope: scopeOf(endpoint.access) },
})

export function createToolbox(endpoints: readonly ListedEndpoint[]): Toolbox {
  const catalogue = createCatalogue(endpoints)
  const agentTools = createAgentTools(endpoints)
  const made = new Map<string, OfferedTool>()

  function offered(name: string): OfferedTool | null {
    const known = made.get(name)
    if (known) return known
    const own = tools.find((tool) => tool.name === name)
    const offer = own ? { name, description: own.description, parameters: own.inputSchema } : endpointTool(name)
    if (offer) made.set(name, offer)
    return offer
  }

  function endpointTool(name: string): OfferedTool | null {
    const card = catalogue.get(name)
    if (card === null) return null
    const { endpoint } = card.listed
    const { schemas, defs } = convert('input', { input: inputSchema(endpoint) })
    const schema = schemas.input!
    return {
      name: card.name.replace('.', '_'),
      description:
        endpoint.description === undefined ? endpoint.summary : `${endpoint.summary}. ${endpoint.description}`,
      parameters: Object.keys(defs).length === 0 ? schema : { ...schema, $defs: defs },
    }
  }

  return {
    offer: (names) => names.flatMap((name) => offered(name) ?? []),
    reach(name, given) {
      if (isTool(name)) {
        if (name !== 'do') return { tool: name, endpoint: null, repeatable: true, consent: null }
        const card = typeof given.name === 'string' ? catalogue.get(given.name) : null
        return card === null
          ? { tool: name, endpoint: null, repeatable: false, consent: null }
          : { tool: name, ...reachedOf(card) }
      }
      const card = catalogue.get(name)
      return card && { tool: card.name, ...reachedOf(card) }
    },
    async run(name, given, caller, call) {
      const result = isTool(name)
        ? await agentTools.run(name, given, caller, call)
        : await agentTools.run('do', { name, input: given }, caller, call)
      if ('asks' in result) throw new Error('a run asks a person before it calls a tool')
      return result
    },
  }
}
