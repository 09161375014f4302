import type { Tool, CanonicalRequest } from '../../../model/canonical-request.ts'
import { loseToolFields } from '../../anthropic-messages/decode/lose-tool-fields.ts'
import { compact, isObject, type Json } from '../../../model/json.ts'
import { boolean, list, missing, object, string } from '../../shared/request-fields.ts'
import { Losses } from '../../shared/losses.ts'
import { anthropicChoice, isAnthropicTool } from './anthropic-tools.ts'
import { cacheOf, loseMark } from '../../shared/cache-marks.ts'
import { UniqueTools } from '../../shared/tools/twins.ts'

type Choice = NonNullable<CanonicalRequest['tool_choice']>

/** `tools`, nested as OpenAI's chat has them, flat as its responses do or as Anthropic's, and the old `functions`. Other kinds are losses. */
export function decodeTools(body: Json, losses: Losses): Tool[] {
  const tools = new UniqueTools()
  for (const [i, given] of (list(body['tools'], 'tools') ?? []).entries()) {
    const at = `tools.${i}`
    const tool = object(given, at) ?? {}
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
  for (const [i, given] of (list(body['functions'], 'functions') ?? []).entries()) {
    tools.add(functionOf(object(given, `functions.${i}`) ?? {}, `functions.${i}`, {}), `functions.${i}.name`)
  }
  return tools.all()
}

const functionOf = (given: Json, at: string, around: Json): Tool =>
  compact({
    name: string(given['name'], `${at}.name`) ?? missing(`${at}.name`),
    description: string(given['description'], `${at}.description`),
    parameters: object(given['parameters'], `${at}.parameters`) ?? { type: 'object', properties: {} },
    strict: boolean(given['strict'], `${at}.strict`),
    cache: cacheOf(around) ?? cacheOf(given),
  })

/** As responses have it, which chat completions refuse. */
export const isFlatTool = (tool: Json): boolean =>
  (tool['type'] === 'function' || tool['type'] === 'custom') &&
  tool[tool['type']] == null &&
  typeof tool['name'] === 'string'

/** The choice, and the tools that it leaves: `allowed_tools` narrows them. */
export function decodeToolChoice(
  body: Json,
  tools: Tool[],
  losses: Losses,
): Pick<CanonicalRequest, 'tools' | 'tool_choice' | 'parallel_tool_calls'> {
  const given = body['tool_choice'] ?? body['function_call']
  const some = tools.length > 0 ? { tools } : {}
  if (given === undefined || given === null) return some
  if (given === 'auto' || given === 'required' || given === 'none') return { ...some, tool_choice: given }
  if (!isObject(given)) {
    string(given, 'tool_choice')
    losses.add('tool_choice')
    return some
  }
  if (given['type'] === 'allowed_tools')
    return allowed(object(given['allowed_tools'], 'tool_choice.allowed_tools'), tools)
  const foreign = anthropicChoice(given)
  if (foreign !== null) return { ...some, ...foreign }
  const named = object(given['function'], 'tool_choice.function') ?? given
  const name = string(named['name'], 'tool_choice.function.name')
  if (name !== undefined && (given['type'] ?? 'function') === 'function') return { ...some, tool_choice: { name } }
  losses.add('tool_choice')
  return some
}

function allowed(given: Json | undefined, tools: Tool[]): { tools?: Tool[]; tool_choice?: Choice } {
  const names = new Set(
    (list(given?.['tools'], 'tool_choice.allowed_tools.tools') ?? []).map((tool, i) => {
      const at = `tool_choice.allowed_tools.tools.${i}`
      const named = object(tool, at) ?? {}
      return string((object(named['function'], `${at}.function`) ?? named)['name'], `${at}.function.name`)
    }),
  )
  const left = tools.filter(({ name }) => names.has(name))
  return left.length === 0
    ? { tool_choice: 'none' }
    : { tools: left, tool_choice: given?.['mode'] === 'required' ? 'required' : 'auto' }
}
