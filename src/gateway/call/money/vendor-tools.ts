import type { FieldReader } from '../../model/body.ts'
import { isObject, type Json, listOf, objectOf, textOf } from '../../model/json.ts'
import { shorten } from '#core/text/shorten.ts'

/**
 * Types of tools that the client runs (request types in openai 6 and @anthropic-ai/sdk 1.11.0): their results are part
 * of the client's next request. A tool without a type is a function.
 */
const byClient =
  /^(?:|function|custom|namespace|local_shell|apply_patch|computer|computer_use_preview|(?:bash|text_editor|memory|computer|computer_toolset|browser_toolset)_\d{8})$/

export const lookupNames = ['web_search_options', 'search_parameters', 'mcp_servers', 'plugins'] as const
export const vendorToolNames = ['tools', 'type', 'environment', 'execution'] as const

const LONGEST_NAME = 64

const isByVendor = (tool: Json): boolean => {
  const type = textOf(tool['type'])
  if (type === 'shell') return objectOf(tool['environment'])['type'] !== 'local'
  if (type === 'tool_search') return tool['execution'] !== 'client'
  if (type === 'namespace') return listOf(tool['tools']).some((inner) => isObject(inner) && isByVendor(inner))
  return !byClient.test(type)
}

/**
 * Finds a tool that the vendor runs itself, such as a web search, whose results the model reads: the size of the
 * request then doesn't limit its input.
 */
export function vendorToolIn(field: FieldReader): { field: string; name: string } | null {
  for (const name of lookupNames) {
    const value = field(name)
    if (Array.isArray(value) ? value.length > 0 : isObject(value)) return { field: name, name }
  }
  const tool = listOf(field('tools')).find((one): one is Json => isObject(one) && isByVendor(one))
  return tool === undefined ? null : { field: 'tools', name: shorten(textOf(tool['type']), LONGEST_NAME) }
}
