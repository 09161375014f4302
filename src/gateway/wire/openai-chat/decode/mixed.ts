import type { Word } from '../../../json-scan/json-scan.ts'
import { type Body, mention } from '../../../model/body.ts'
import { isObject, type Json } from '../../../model/json.ts'
import { hasAnthropicParts, partTypes } from './anthropic-parts.ts'
import { anthropicChoice, isAnthropicTool } from './anthropic-tools.ts'
import { isFlatTool } from './tools.ts'

const hasTool = ({ tools }: Json, is: (tool: Json) => boolean): boolean =>
  Array.isArray(tools) && tools.some((tool) => isObject(tool) && is(tool))

/** Whether something of a chat is written as Anthropic has it. */
export const isPartlyAnthropic = (json: Json): boolean =>
  (isObject(json['tool_choice']) && anthropicChoice(json['tool_choice']) !== null) ||
  hasTool(json, isAnthropicTool) ||
  hasAnthropicParts(json)

/** Whether a chat holds what is written as another API has it: OpenAI would refuse the client's own bytes. */
export const isMixed = (json: Json): boolean => hasTool(json, isFlatTool) || isPartlyAnthropic(json)

/** Without these words in it a chat holds nothing that is written so. */
export const mixedWords: Readonly<Record<string, Word>> = {
  ...Object.fromEntries(partTypes.map((type) => [type, { value: mention.anthropicPart }])),
  custom: { value: mention.customTool },
  function: { item: true },
}

/** The same of a body, which is looked through only where it may hold such a thing. */
export function isMixedBody(body: Body): boolean {
  const choice = body.value('tool_choice')
  if (isObject(choice) && anthropicChoice(choice) !== null) return true
  const usualTools = !body.has('tools') || (body.holdsItems('tools') && !body.mentions(mention.customTool))
  return (!usualTools || body.mentions(mention.anthropicPart)) && isMixed(body.json)
}
