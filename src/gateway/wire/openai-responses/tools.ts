import type { Tool, CanonicalRequest } from '../../model/canonical-request.ts'
import { compact, isObject, type Json, listOf, objectOf, textOf } from '../../model/json.ts'
import { boolean, list, missing, object, string } from '../shared/request-fields.ts'
import { Losses } from '../shared/losses.ts'
import { cacheOf, loseMark } from '../shared/cache-marks.ts'
import { UniqueTools } from '../shared/tools/twins.ts'

type Choice = NonNullable<CanonicalRequest['tool_choice']>

export interface ClientTool {
  kind: 'function' | 'custom'
  name: string
  namespace?: string
}

export const flatName = (name: string, namespace: string | undefined): string =>
  namespace === undefined || namespace === '' ? name : `${namespace}__${name}`

export function clientTools(request: Json): ReadonlyMap<string, ClientTool> {
  const tools = new Map<string, ClientTool>()
  const add = (value: unknown, namespace?: string): void => {
    const tool = objectOf(value)
    const name = textOf(tool['name']) || textOf(objectOf(tool['function'])['name'])
    if (tool['type'] === 'namespace') for (const inner of listOf(tool['tools'])) add(inner, name)
    else
      tools.set(flatName(name, namespace), {
        kind: tool['type'] === 'custom' ? 'custom' : 'function',
        name,
        ...(namespace !== undefined && { namespace }),
      })
  }
  for (const tool of listOf(request['tools'])) add(tool)
  return tools
}

/** For models that call with JSON only. */
const freeText = {
  type: 'object',
  properties: { input: { type: 'string' } },
  required: ['input'],
  additionalProperties: false,
}

/** Text that isn't such JSON stays unchanged. */
export const wrapText = (input: string): string => JSON.stringify({ input })
export function unwrapText(words: string): string {
  try {
    const { input } = objectOf(JSON.parse(words))
    return typeof input === 'string' ? input : words
  } catch {
    return words
  }
}

/** Tools that OpenAI runs itself are losses. */
export function decodeTools(body: Json, losses: Losses): Tool[] {
  const tools = new UniqueTools()
  for (const [i, value] of (list(body['tools'], 'tools') ?? []).entries())
    decodeTool(value, `tools.${i}`, undefined, losses, tools)
  return tools.all()
}

function decodeTool(
  value: unknown,
  at: string,
  namespace: string | undefined,
  losses: Losses,
  tools: UniqueTools,
): void {
  const tool = object(value, at) ?? missing(at)
  const type = string(tool['type'], `${at}.type`) ?? 'function'
  // Some clients nest functions as in Chat Completions.
  const definition = type === 'function' && isObject(tool['function']) ? tool['function'] : tool
  const name = () => flatName(string(definition['name'], `${at}.name`) ?? missing(`${at}.name`), namespace)
  const description = string(definition['description'], `${at}.description`)
  if (type === 'namespace') {
    const space = string(tool['name'], `${at}.name`) ?? missing(`${at}.name`)
    const before = tools.last
    for (const [i, inner] of (list(tool['tools'], `${at}.tools`) ?? []).entries())
      decodeTool(inner, `${at}.tools.${i}`, space, losses, tools)
    // A mark on a namespace applies to its last tool.
    const { last } = tools
    const cache = cacheOf(tool)
    if (last === undefined || last === before) loseMark(tool, losses)
    else if (cache !== undefined) last.cache ??= cache
    return
  }
  if (type === 'custom') {
    const format = object(tool['format'], `${at}.format`) ?? {}
    const fullDescription = describe(description, format)
    return tools.add(
      compact({ name: name(), description: fullDescription, parameters: freeText, cache: cacheOf(tool) }),
      `${at}.name`,
    )
  }
  if (type !== 'function') {
    loseMark(tool, losses)
    losses.add(`tools.${type}`)
    return
  }
  const parameters = object(definition['parameters'], `${at}.parameters`) ?? { type: 'object', properties: {} }
  const strict = boolean(definition['strict'], `${at}.strict`)
  const cache = cacheOf(tool) ?? cacheOf(definition)
  tools.add(compact({ name: name(), description, parameters, strict, cache }), `${at}.name`)
}

/** A grammar can't be enforced elsewhere, but the description can state it. */
function describe(description: string | undefined, format: Json): string | undefined {
  const definition = textOf(format['definition'])
  if (definition === '') return description
  return `${description ?? ''}\n\nThe input must follow this ${textOf(format['syntax'])} grammar:\n${definition}`.trim()
}

/** `allowed_tools` restricts the tools. */
export function decodeToolChoice(body: Json, tools: Tool[], losses: Losses): { tools?: Tool[]; tool_choice?: Choice } {
  const givenChoice = body['tool_choice']
  const some = tools.length > 0 ? { tools } : {}
  if (givenChoice === undefined || givenChoice === null) return some
  if (givenChoice === 'auto' || givenChoice === 'required' || givenChoice === 'none')
    return { ...some, tool_choice: givenChoice }
  const choice = isObject(givenChoice) ? givenChoice : {}
  if (choice['type'] === 'allowed_tools') {
    const names = new Set(listOf(choice['tools']).map((tool) => nameIn(objectOf(tool))))
    const remaining = tools.filter(({ name }) => names.has(name))
    if (remaining.length === 0) return { tool_choice: 'none' }
    return { tools: remaining, tool_choice: choice['mode'] === 'required' ? 'required' : 'auto' }
  }
  const name = nameIn(choice)
  if (tools.some((tool) => tool.name === name)) return { ...some, tool_choice: { name } }
  losses.add('tool_choice')
  return some
}

const nameIn = (choice: Json): string => flatName(textOf(choice['name']), textOf(choice['namespace']) || undefined)
