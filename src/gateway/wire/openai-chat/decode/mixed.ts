import { isObject, type Json } from '../../../model/json.ts'
import { hasAnthropicParts } from './anthropic-parts.ts'
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
