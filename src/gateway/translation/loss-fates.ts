import { refuse } from '#core/errors.ts'
import type { Loss } from '../model/canonical-request.ts'

/**
 * The fate of a loss. `named`: the answer is still one to what was asked, and `x-uk-losses` says what did not count.
 * `refused`: without it another question would be answered, and paid for.
 */
export type Fate = 'named' | 'refused'

/**
 * Every loss that a translation can have; `*` is any one word. A name that is in no row is a field that came after this was
 * written: agents send those, and it is named.
 */
export const fates: Readonly<Record<string, Fate>> = {
  // Sampling, effort, caching and logging: the question stays the same.
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
  // Models to ask if the first one fails.
  models: 'named',
  parallel_tool_calls: 'named',
  reasoning: 'named',
  reasoning_effort: 'named',
  'reasoning.*': 'named',
  'output_config.*': 'named',
  'include.*': 'named',
  // A form that is asked for in words instead; a keyword of a schema that the vendor does not check.
  response_format: 'named',
  'response_format.*': 'named',
  'tools.parameters.*': 'named',
  // A form that nobody could be held to.
  'response_format.grammar': 'refused',
  'response_format.python': 'refused',
  'text.format.*': 'refused',
  // Tools that a vendor runs itself: agents offer them to every model, and the answer shows that none was used.
  tools: 'named',
  'tools.*': 'named',
  // A choice that forces one of them, or calls that were forbidden.
  tool_choice: 'refused',
  'tool_choice.none': 'named',
  // Kinds that came after this was written, which agents send beside what they ask.
  'messages.*': 'named',
  'input.*': 'named',
  // The client's own words, pictures, papers, sound and results.
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
  // Sound that is asked for.
  audio: 'refused',
  modalities: 'refused',
  'audio.format': 'refused',
  'audio.voice': 'named',
  // A ratio or a size that OpenRouter does not name.
  'image_config.*': 'named',
  // Of earlier answers: thoughts, what a vendor's own tools did and found, how an answer began.
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
  // Fields that a simulated model does not heed, whatever it is shown.
  'messages.image': 'named',
  'messages.file': 'named',
}

const patterns = Object.entries(fates)
  .filter(([name]) => name.includes('*'))
  // The longer one says more.
  .toSorted(([a], [b]) => b.length - a.length)
  .map(([name, fate]) => [new RegExp(`^${name.replaceAll('.', '\\.').replaceAll('*', '[^.]+')}$`), fate] as const)

export const fateOf = (name: Loss): Fate =>
  fates[name] ?? patterns.find(([pattern]) => pattern.test(name))?.[1] ?? 'named'

/** Refuses where what cannot be carried is part of the question. */
export function refuseLost(losses: readonly Loss[]): void {
  const lost = losses.find((name) => fateOf(name) === 'refused')
  if (lost === undefined) return
  refuse('invalid_parameter', {
    message: `\`${lost}\` can’t be translated for this model, and the answer would be wrong without it. Leave it out, or use a model whose provider supports it.`,
    param: lost,
    details: { losses: [lost] },
  })
}
