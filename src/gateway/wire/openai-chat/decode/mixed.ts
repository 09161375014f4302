import type { Word } from '#packages/json-scan/json-scan.ts'
import { type Body, mention } from '../../../model/body.ts'
import { isObject, type Json } from '../../../model/json.ts'
import { hasAnthropicParts, partTypes } from './anthropic-parts.ts'
import { anthropicChoice, isAnthropicTool } from './anthropic-tools.ts'
import { isFlatTool } from './tools.ts'

const hasTool = ({ tools }: Json, is: (tool: Json) => boolean): boolean =>
  Array.isArray(tools) && tools.some((tool) => isObject(tool) && is(tool))

export const isPartlyAnthropic = (json: Json): boolean =>
  (isObject(json['tool_choice']) && anthropicChoice(json['tool_choice']) !== null) ||
  hasTool(json, isAnthropicTool) ||
  hasAnthropicParts(json)

/** OpenAI would reject another API's format in the client's own bytes. */
export const isMixed = (json: Json): boolean => hasTool(json, isFlatTool) || isPartlyAnthropic(json)

export const mixedWords: Readonly<Record<string, Word>> = {
  ...Object.fromEntries(partTypes.map((type) => [type, { value: mention.anthropicPart }])),
  custom: { value: mention.customTool },
  function: { item: true },
}

export function isMixedBody(body: Body): boolean {
  const choice = body.value('tool_choice')
  if (isObject(choice) && anthropicChoice(choice) !== null) return true
  const usualTools = !body.has('tools') || (body.holdsItems('tools') && !body.mentions(mention.customTool))
  return (!usualTools || body.mentions(mention.anthropicPart)) && isMixed(body.json)
}
