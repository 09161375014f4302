/** How a provider says that a prompt doesn't fit into its model's context, and where that was seen. */
interface ContextWords {
  provider: string
  words: RegExp
  /** A sentence as it was sent. */
  said: string
  source: string
}

/**
 * Every provider words it in its own way, under statuses from 400 to 500. The clients of each surface act on that surface's
 * own code alone: Claude Code compacts its conversation, agents of OpenAI's shape cut theirs.
 */
export const contextWords: readonly ContextWords[] = [
  {
    provider: 'OpenAI, Azure',
    words: /context_length_exceeded/,
    said: 'context_length_exceeded Input tokens exceed the configured limit of 272000 tokens.',
    source: 'platform.openai.com, error codes',
  },
  {
    provider: 'OpenAI, OpenRouter, DeepSeek, vLLM, DeepInfra',
    words: /maximum context length/i,
    said: "This model's maximum context length is 131072 tokens. However, you requested 133034 tokens (125034 in the messages, 8000 in the completion). Please reduce the length of the messages or completion.",
    source: 'stackblitz-labs/bolt.diy#227, AIDotNet/OpenCowork#82, ai-christianson/RA.Aid#41',
  },
  {
    provider: 'OpenAI responses',
    words: /exceeds the context window|exceed(?:s|ed)? (?:the )?(?:model'?s? )?context window/i,
    said: 'Your input exceeds the context window of this model. Please adjust your input and try again.',
    source: 'earendil-works/pi, overflow.ts',
  },
  {
    provider: 'Anthropic, Vertex',
    words: /prompt is too long/i,
    said: 'prompt is too long: 202095 tokens > 200000 maximum',
    source: 'stackblitz/bolt.new#2449',
  },
  {
    provider: 'Anthropic, with the answer',
    words: /exceed (?:the )?context limit/i,
    said: 'input length and `max_tokens` exceed context limit: 199000 + 8192 > 200000, decrease input length or `max_tokens` and try again',
    source: 'docs.anthropic.com, context windows',
  },
  {
    provider: 'Gemini, Vertex',
    words: /input token count.{0,40}exceeds the maximum/i,
    said: 'The input token count (1200293) exceeds the maximum number of tokens allowed (1048576).',
    source: 'google-gemini/gemini-cli#6678',
  },
  {
    provider: 'Vertex',
    words: /input token count is \d+ but (?:the )?model only supports/i,
    said: 'Unable to submit request because the input token count is 1251952 but model only supports up to 1048576. Reduce the input token count and try again.',
    source: 'google-gemini/gemini-cli#19727',
  },
  {
    provider: 'Bedrock',
    words: /input is too long/i,
    said: 'Input is too long for requested model.',
    source: 'earendil-works/pi, overflow.ts',
  },
  {
    provider: 'xAI',
    words: /maximum prompt length is \d+/i,
    said: "This model's maximum prompt length is 131072 but the request contains 537812 tokens.",
    source: 'earendil-works/pi, overflow.ts',
  },
  {
    provider: 'Groq',
    words: /reduce the length of the messages/i,
    said: 'Please reduce the length of the messages or completion.',
    source: 'earendil-works/pi, overflow.ts',
  },
  {
    provider: 'Moonshot',
    words: /exceeded model token limit/i,
    said: 'Invalid request: Your request exceeded model token limit: 262144 (requested: 268212)',
    source: 'earendil-works/pi, overflow.ts',
  },
  {
    provider: 'MiniMax',
    words: /context window exceeds limit/i,
    said: 'invalid params, context window exceeds limit',
    source: 'earendil-works/pi, overflow.ts',
  },
  {
    provider: 'GitHub Copilot',
    words: /prompt token count of \d+ exceeds the limit/i,
    said: 'prompt token count of 130000 exceeds the limit of 128000',
    source: 'earendil-works/pi, overflow.ts',
  },
  {
    provider: 'Fireworks',
    words: /model maximum context length/i,
    said: 'The prompt is too long: 40177, model maximum context length: 32767',
    source: 'fw-ai/cookbook#134',
  },
  {
    provider: 'Together, Hugging Face TGI',
    words: /`?inputs`? (?:tokens \+ `?max_new_tokens`? must be <=|must have less than \d+ tokens)/i,
    said: 'Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4097. Given: 80125 `inputs` tokens and 4096 `max_new_tokens`',
    source: 'BerriAI/litellm#4934, stanford-crfm/helm#1820',
  },
  {
    provider: 'llama.cpp',
    words: /exceeds? the available context size|exceed_context_size_error/i,
    said: 'exceed_context_size_error the request exceeds the available context size, try increasing it',
    source: 'earendil-works/pi, overflow.ts; melagiri/code-insights#271',
  },
  {
    provider: 'llama-cpp-python',
    words: /tokens (?:\(\d+\) )?exceed context window/i,
    said: 'Requested tokens (4348) exceed context window of 4096',
    source: 'abetlen/llama-cpp-python#120',
  },
  {
    provider: 'LM Studio',
    words: /greater than the context length|when context the overflows|context size has been exceeded/i,
    said: 'Trying to keep the first 111490 tokens when context the overflows. However, the model is loaded with context length of only 32768 tokens, which is not enough.',
    source: 'lmstudio-ai/lmstudio-bug-tracker#546, #2339',
  },
  {
    provider: 'Ollama',
    words: /input (?:length )?exceeds (?:the )?(?:maximum )?context length/i,
    said: 'input exceeds context length',
    source: 'ITSpecialist111/ai_automation_suggester#37',
  },
  {
    provider: 'others',
    words:
      /context[ _]?(?:length|window|size) (?:is |was |has been )?(?:exceeded|full)|exceed(?:s|ed)? (?:the )?(?:maximum |available )?context|too many (?:input )?tokens|(?:exceeds?|exceeded) (?:the )?token limit|token limit exceeded|maximum (?:allowed )?(?:number of )?(?:input )?tokens/i,
    said: 'context length exceeded',
    source: 'crewAIInc/crewAI, context_window_exceeding_exception.py',
  },
]

/** Words of a quota in time, whose tokens are those of a minute or a day, and of a limit that is the answer's (Bedrock). */
const elsewhere =
  /maximum tokens you requested|rate.?limit|throttl|quota|per (?:min|hour|day)|\bT[PD][MD]\b|please wait|too many requests/i
const any = new RegExp(contextWords.map(({ words }) => words.source).join('|'), 'i')

/** Whether a provider's words say that the prompt is too long for the model. */
export const isContextLength = (words: string): boolean => any.test(words) && !elsewhere.test(words)
