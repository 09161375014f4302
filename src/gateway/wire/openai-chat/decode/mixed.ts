import type { Word } from '../../../json-scan/json-scan.ts'
import { type Body, mention } from '../../../model/body.ts'
import { isObject, type Json } from '../../../model/json.ts'
import { hasAnthropicParts, partTypes } from './anthropic-parts.ts'
import { anthropicChoice, isAnthropicTool } from './anthropic-tools.ts'
import { isFlatTool } from './tools.ts'

const hasTool = ({ tools }: Json, is: (tool: Json) => boolean): boolean =>
  Array.isArray(tools) && tools.some((tool) => isObject(tool) && is(tool))

/** True if part of a chat is in Anthropic's format. */
export const isPartlyAnthropic = (json: Json): boolean =>
  (isObject(json['tool_choice']) && anthropicChoice(json['tool_choice']) !== null) ||
  hasTool(json, isAnthropicTool) ||
  hasAnthropicParts(json)

/** True if part of a chat is in another API's format: OpenAI would reject the client's own bytes. */
export const isMixed = (json: Json): boolean => hasTool(json, isFlatTool) || isPartlyAnthropic(json)

/** A chat without these words can't be mixed. */
export const mixedWords: Readonly<Record<string, Word>> = {
  ...Object.fromEntries(partTypes.map((type) => [type, { value: mention.anthropicPart }])),
  custom: { value: mention.customTool },
  function: { item: true },
}

/** The same for a body, which is only searched if it may contain such a part. */
export function isMixedBody(body: Body): boolean {
  const choice = body.value('tool_choice')
  if (isObject(choice) && anthropicChoice(choice) !== null) return true
  const usualTools = !body.has('tools') || (body.holdsItems('tools') && !body.mentions(mention.customTool))
  return (!usualTools || body.mentions(mention.anthropicPart)) && isMixed(body.json)
}
