import type { Tool, CanonicalRequest } from '../../../model/canonical-request.ts'
import { loseToolFields } from '../../anthropic-messages/decode/lose-tool-fields.ts'
import { compact, isObject, type Json } from '../../../model/json.ts'
import { boolean, list, missing, object, string } from '../../shared/request-fields.ts'
import { Losses } from '../../shared/losses.ts'
import { anthropicChoice, isAnthropicTool } from './anthropic-tools.ts'
import { cacheOf, loseMark } from '../../shared/cache-marks.ts'
import { UniqueTools } from '../../shared/tools/twins.ts'

type Choice = NonNullable<CanonicalRequest['tool_choice']>

/**
 * Nested as in Chat Completions, flat as in Responses, or as Anthropic's, and the old `functions`. Other types are
 * losses.
 */
export function decodeTools(body: Json, losses: Losses): Tool[] {
  const tools = new UniqueTools()
  for (const [i, value] of (list(body['tools'], 'tools') ?? []).entries()) {
    const at = `tools.${i}`
    const tool = object(value, at) ?? {}
    const type = string(tool['type'], `${at}.type`) ?? 'function'
    if (isAnthropicTool(tool)) {
      loseToolFields(tool, losses)
      tools.add(functionOf({ ...tool, parameters: tool['input_schema'] }, at, tool), `${at}.name`)
    } else if (type !== 'function') {
      loseMark(tool, losses)
      losses.add(`tools.${type}`)
    } else
      tools.add(
        functionOf(object(tool['function'], `${at}.function`) ?? tool, `${at}.function`, tool),
        `${at}.function.name`,
      )
  }
  for (const [i, value] of (list(body['functions'], 'functions') ?? []).entries()) {
    tools.add(functionOf(object(value, `functions.${i}`) ?? {}, `functions.${i}`, {}), `functions.${i}.name`)
  }
  return tools.all()
}

const functionOf = (definition: Json, at: string, around: Json): Tool =>
  compact({
    name: string(definition['name'], `${at}.name`) ?? missing(`${at}.name`),
    description: string(definition['description'], `${at}.description`),
    parameters: object(definition['parameters'], `${at}.parameters`) ?? { type: 'object', properties: {} },
    strict: boolean(definition['strict'], `${at}.strict`),
    cache: cacheOf(around) ?? cacheOf(definition),
  })

/** Chat Completions rejects the flat format of Responses. */
export const isFlatTool = (tool: Json): boolean =>
  (tool['type'] === 'function' || tool['type'] === 'custom') &&
  tool[tool['type']] == null &&
  typeof tool['name'] === 'string'

/** `allowed_tools` restricts the tools. */
export function decodeToolChoice(
  body: Json,
  tools: Tool[],
  losses: Losses,
): Pick<CanonicalRequest, 'tools' | 'tool_choice' | 'parallel_tool_calls'> {
  const choice = body['tool_choice'] ?? body['function_call']
  const some = tools.length > 0 ? { tools } : {}
  if (choice === undefined || choice === null) return some
  if (choice === 'auto' || choice === 'required' || choice === 'none') return { ...some, tool_choice: choice }
  if (!isObject(choice)) {
    string(choice, 'tool_choice')
    losses.add('tool_choice')
    return some
  }
  if (choice['type'] === 'allowed_tools')
    return allowedTools(object(choice['allowed_tools'], 'tool_choice.allowed_tools'), tools)
  const foreign = anthropicChoice(choice)
  if (foreign !== null) return { ...some, ...foreign }
  const target = object(choice['function'], 'tool_choice.function') ?? choice
  const name = string(target['name'], 'tool_choice.function.name')
  if (name !== undefined && (choice['type'] ?? 'function') === 'function') return { ...some, tool_choice: { name } }
  losses.add('tool_choice')
  return some
}

function allowedTools(choice: Json | undefined, tools: Tool[]): { tools?: Tool[]; tool_choice?: Choice } {
  const names = new Set(
    (list(choice?.['tools'], 'tool_choice.allowed_tools.tools') ?? []).map((tool, i) => {
      const at = `tool_choice.allowed_tools.tools.${i}`
      const definition = object(tool, at) ?? {}
      return string((object(definition['function'], `${at}.function`) ?? definition)['name'], `${at}.function.name`)
    }),
  )
  const remaining = tools.filter(({ name }) => names.has(name))
  return remaining.length === 0
    ? { tool_choice: 'none' }
    : { tools: remaining, tool_choice: choice?.['mode'] === 'required' ? 'required' : 'auto' }
}
