import { refuse } from '#core/errors.ts'
import type { Loss } from '../model/canonical-request.ts'

/**
 * What happens on a loss. `named`: the answer still fits the question, and `x-uk-losses` says what was ignored.
 * `refused`: without the field, a different question would be answered and billed.
 */
export type Fate = 'named' | 'refused'

/**
 * Every loss of a translation; `*` is any single word. Unlisted names are fields newer than this code: agents send
 * those, so they are only named.
 */
export const fates: Readonly<Record<string, Fate>> = {
  // Sampling, effort, caching, logging: the question stays the same.
  temperature: 'named',
  top_p: 'named',
  top_k: 'named',
  seed: 'named',
  n: 'named',
  max_output_tokens: 'named',
  frequency_penalty: 'named',
  presence_penalty: 'named',
  verbosity: 'named',
  user: 'named',
  cache_control: 'named',
  metadata: 'named',
  prompt_cache_options: 'named',
  prompt_cache_retention: 'named',
  store: 'named',
  models: 'named',
  parallel_tool_calls: 'named',
  reasoning: 'named',
  reasoning_effort: 'named',
  'reasoning.*': 'named',
  'output_config.*': 'named',
  'include.*': 'named',
  // A format requested by instruction instead; a schema keyword that the vendor doesn't check.
  response_format: 'named',
  'response_format.*': 'named',
  'tools.parameters.*': 'named',
  // A format that no instruction can enforce.
  'response_format.grammar': 'refused',
  'response_format.python': 'refused',
  'text.format.*': 'refused',
  // Tools that a vendor runs itself: agents offer them to every model, and the answer shows that none was used.
  tools: 'named',
  'tools.*': 'named',
  // A choice that forces one of them, or forbidden calls.
  tool_choice: 'refused',
  'tool_choice.none': 'named',
  // Types newer than this code, which agents send along.
  'messages.*': 'named',
  'input.*': 'named',
  'messages.input_audio': 'refused',
  'messages.audio_url': 'refused',
  'messages.audio': 'refused',
  'messages.video_url': 'refused',
  'messages.input_video': 'refused',
  'messages.input_file': 'refused',
  'messages.file_id': 'refused',
  'messages.*.file_id': 'refused',
  'messages.document.context': 'refused',
  'messages.container_upload': 'refused',
  'messages.compaction': 'refused',
  'messages.tool_addition': 'refused',
  'messages.tool_removal': 'refused',
  'messages.browser_state': 'refused',
  'input.input_image': 'refused',
  'input.input_file': 'refused',
  'input.input_audio': 'refused',
  'input.input_video': 'refused',
  'input.file_id': 'refused',
  'input.computer_screenshot': 'refused',
  'input.*_output': 'refused',
  // An instruction that OpenAI's shape has no place for.
  system: 'refused',
  audio: 'refused',
  modalities: 'refused',
  'audio.format': 'refused',
  'audio.voice': 'named',
  // A ratio or size that OpenRouter doesn't define.
  'image_config.*': 'named',
  // From earlier answers: reasoning, calls and results of a vendor's own tools, a prefilled answer.
  'messages.prefill': 'named',
  'messages.reasoning': 'named',
  'messages.thinking': 'named',
  'messages.redacted_thinking': 'named',
  'messages.images': 'named',
  'messages.assistant.media': 'named',
  'messages.tool_result': 'named',
  'messages.tool_use': 'named',
  'messages.tool_calls.custom': 'named',
  'messages.server_tool_use': 'named',
  'messages.mcp_tool_use': 'named',
  'messages.mcp_tool_listing': 'named',
  'messages.*_tool_result': 'named',
  'messages.tool_reference': 'named',
  'messages.fallback': 'named',
  'messages.cache_edits': 'named',
  'messages.connector_text': 'named',
  'messages.search_result.citations': 'named',
  'messages.document.citations': 'named',
  'input.reasoning_text': 'named',
  'input.summary_text': 'named',
  'input.encrypted_content': 'named',
  'input.*_call': 'named',
  'input.mcp_list_tools': 'named',
  'input.mcp_approval_request': 'named',
  // Fields that a simulated model ignores.
  'messages.image': 'named',
  'messages.file': 'named',
}

const patterns = Object.entries(fates)
  .filter(([name]) => name.includes('*'))
  // The longer pattern is more specific.
  .toSorted(([a], [b]) => b.length - a.length)
  .map(([name, fate]) => [new RegExp(`^${name.replaceAll('.', '\\.').replaceAll('*', '[^.]+')}$`), fate] as const)

export const fateOf = (name: Loss): Fate =>
  fates[name] ?? patterns.find(([pattern]) => pattern.test(name))?.[1] ?? 'named'

export function refuseLost(losses: readonly Loss[]): void {
  const refusedLoss = losses.find((name) => fateOf(name) === 'refused')
  if (refusedLoss === undefined) return
  refuse('invalid_parameter', {
    message: `\`${refusedLoss}\` can’t be translated for this model, and the answer would be wrong without it. Leave it out, or use a model whose provider supports it.`,
    param: refusedLoss,
    details: { losses: [refusedLoss] },
  })
}
