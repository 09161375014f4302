import type { FieldReader } from '../../model/body.ts'
import { isObject, type Json, listOf, objectOf, textOf } from '../../model/json.ts'
import { shorten } from '#core/text/shorten.ts'

/**
 * Tools that the client carries out, by their type (types of requests in openai 6 and @anthropic-ai/sdk 1.11.0): what comes
 * of them is in the client's next request. A tool without a type is a function.
 */
const byClient =
  /^(?:|function|custom|namespace|local_shell|apply_patch|computer|computer_use_preview|(?:bash|text_editor|memory|computer|computer_toolset|browser_toolset)_\d{8})$/

/** Fields that have a vendor look something up, where they hold anything. */
export const lookupNames = ['web_search_options', 'search_parameters', 'mcp_servers', 'plugins'] as const
/** Names by which a tool shows who carries it out. */
export const vendorToolNames = ['tools', 'type', 'environment', 'execution'] as const

/** The most of a tool's type that a refusal repeats to its sender. */
const LONGEST_NAME = 64

const isByVendor = (tool: Json): boolean => {
  const type = textOf(tool['type'])
  if (type === 'shell') return objectOf(tool['environment'])['type'] !== 'local'
  if (type === 'tool_search') return tool['execution'] !== 'client'
  if (type === 'namespace') return listOf(tool['tools']).some((inner) => isObject(inner) && isByVendor(inner))
  return !byClient.test(type)
}

/**
 * The field, and the tool in it, by which the vendor itself carries out what the model calls, as a search of the web, and reads
 * what comes of it to the model: then the bytes of the request do not bound its input. Null: nothing does.
 */
export function vendorToolIn(field: FieldReader): { field: string; name: string } | null {
  for (const name of lookupNames) {
    const value = field(name)
    if (Array.isArray(value) ? value.length > 0 : isObject(value)) return { field: name, name }
  }
  const tool = listOf(field('tools')).find((one): one is Json => isObject(one) && isByVendor(one))
  return tool === undefined ? null : { field: 'tools', name: shorten(textOf(tool['type']), LONGEST_NAME) }
}
