/** With the source of each message. */
interface ContextWords {
  provider: string
  words: RegExp
  said: string
  source: string
}

/**
 * Every provider has its own wording, with statuses from 400 to 500. Clients only react to the code of their own
 * surface: Claude Code compacts its conversation, agents of OpenAI's shape truncate theirs.
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
    provider: 'OpenAI, without a code',
    words: /input tokens exceed the configured limit/i,
    said: 'Input tokens exceed the configured limit of 272000 tokens. Your messages resulted in 428548 tokens. Please reduce the length of the messages.',
    source: 'BerriAI/litellm, exception_mapping_utils.py',
  },
  {
    provider: 'LiteLLM',
    words: /context_?(?:window|length)_?exceeded(?:_?error|_?exception)?/i,
    said: 'litellm.BadRequestError: litellm.ContextWindowExceededError: AnthropicError',
    source: 'OpenHands/OpenHands#4894, BerriAI/litellm#28063',
  },
  {
    provider: 'OpenAI-compatible servers',
    words: /exceeds? (?:the )?model'?s? (?:maximum )?context (?:length|limit|window)/i,
    said: "Input length (265330) exceeds model's maximum context length (262144).",
    source: 'earendil-works/pi, overflow.ts',
  },
  {
    provider: 'vLLM, before 0.9',
    words: /prompt \(length \d+\) is longer than the maximum model length/i,
    said: 'The decoder prompt (length 21535) is longer than the maximum model length of 16384. Make sure that `max_model_len` is no smaller than the number of text tokens.',
    source: 'xorbitsai/inference#3785, langchain-ai/deepagents#468',
  },
  {
    provider: 'vLLM, with the answer',
    words: /context length is only [\d,]+ tokens/i,
    said: "You passed 98305 input tokens and requested 32768 output tokens. However, the model's context length is only 131072 tokens, resulting in a maximum input length of 98304 tokens. Please reduce the length of the input prompt. (parameter=input_tokens, value=98305)",
    source: 'proxysoul/Empryo#52',
  },
  {
    provider: 'SGLang, Together',
    words: /longer than the model'?s context length/i,
    said: "The input (61709 tokens) is longer than the model's context length (40960 tokens).",
    source: 'QwenLM/Qwen3#1321, sgl-project/sglang#8096',
  },
  {
    provider: 'SGLang, Volcano Engine, Poolside',
    words: /input length \(?[\d,]+(?: tokens)?\)? exceeds (?:the )?max(?:imum)? (?:allowed )?(?:input )?length/i,
    said: 'Input length (160062 tokens) exceeds the maximum allowed length (59862 tokens). Use a shorter input or enable --allow-auto-truncate.',
    source: 'sgl-project/sglang#4048, langgenius/dify#32221, earendil-works/pi, overflow.ts',
  },
  {
    provider: 'Mistral',
    words: /too large for model with [\d,]+ maximum context length/i,
    said: 'Prompt contains 240000 tokens and 0 draft tokens, too large for model with 131072 maximum context length',
    source: 'BerriAI/litellm#21647; earendil-works/pi, overflow.ts',
  },
  {
    provider: 'Perplexity',
    words: /total length of (?:all )?messages is too long/i,
    said: 'The total length of all messages is too long.',
    source: 'BerriAI/litellm#21647',
  },
  {
    provider: 'Cohere',
    words: /total number of tokens \(prompt and prediction\) cannot exceed/i,
    said: 'too many tokens: total number of tokens (prompt and prediction) cannot exceed 2048 - received 6354. Try using a shorter prompt or a smaller max_tokens value.',
    source: 'cohere-ai/sandbox-topically#4',
  },
  {
    provider: 'z.ai',
    words: /prompt exceeds max(?:imum)? length|tokens in request more than max tokens allowed/i,
    said: '1261 Prompt exceeds max length',
    source: 'zeroclaw-labs/zeroclaw#4124, anomalyco/opencode#35920',
  },
  {
    provider: 'z.ai and Anthropic, as a word of its own',
    words: /model_context_window_exceeded/i,
    said: 'model_context_window_exceeded',
    source: 'earendil-works/pi, overflow.ts',
  },
  {
    provider: 'DashScope',
    words: /range of input length should be/i,
    said: '<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 204800]',
    source: 'QwenLM/qwen-code#98',
  },
  {
    provider: 'Amazon Nova',
    words: /input tokens exceeded: |number of input tokens exceeds maximum length/i,
    said: 'The model returned the following errors: Input Tokens Exceeded: Number of input tokens exceeds maximum length. Please update the input to try again.',
    source: 'validationException of ConverseStream, quoted in the error tests of several clients',
  },
  {
    provider: 'Cerebras',
    words: /current length is [\d,]+ while limit is [\d,]+/i,
    said: 'Please reduce the length of the messages or completion. Current length is 42328 while limit is 40000',
    source: 'cline/cline#5140, anomalyco/opencode#1551',
  },
  {
    provider: 'Ollama Cloud',
    words: /prompt too long; exceeded (?:max )?context length/i,
    said: 'prompt too long; exceeded max context length by 1233 tokens',
    source: 'earendil-works/pi, overflow.ts',
  },
  {
    provider: 'GitHub Copilot, by its code',
    words: /(?:model_)?max_prompt_tokens_exceeded/i,
    said: 'model_max_prompt_tokens_exceeded',
    source: 'microsoft/copilot-intellij-feedback#94, microsoft/vscode#289514',
  },
  {
    provider: 'servers that name their own limit',
    words: /input tokens? \([\d,]+\) has exceeded max_prompt_tokens|the configured context size is [\d,]+ tokens/i,
    said: 'number of input tokens (167594) has exceeded max_prompt_tokens (163840) limit.',
    source: 'RhythmicWave/NovelForge#136',
  },
  {
    provider: 'others',
    words:
      /context[ _]?(?:length|window|size|limit) (?:is |was |has been )?(?:exceeded|full)|exceed(?:s|ed|ing)? (?:the |its )?(?:maximum |max |available |allowed |model )*context\b|too many (?:input )?tokens|(?:exceeds?|exceeded) (?:the )?(?:model'?s? )?(?:input |prompt |context )?token limit|(?<!(?:output|completion|response|generation)[ _])token limit exceeded|maximum (?:allowed )?(?:number of )?input tokens|exceed(?:s|ed)? (?:the )?maximum (?:allowed )?(?:number of )?(?:input )?tokens/i,
    said: 'Your conversation exceeds the model context limit',
    source: 'crewAIInc/crewAI, context_window_exceeding_exception.py',
  },
]

/** Wording for rate limits (tokens per minute or day) and for limits of the output, an image, or one field. */
const elsewhere = new RegExp(
  [
    // Bedrock, about the output.
    /maximum tokens you requested/,
    /rate.?limit|throttl|quota|per (?:\d+ ?)?(?:s|sec|seconds?|min|minutes?|hours?|days?|weeks?|months?)\b|\bT[PD][MD]\b|please wait|too many requests/,
    /\b(?:hourly|daily|weekly|monthly)\b/,
    /tokens? (?:for|in|of) (?:the |your )?(?:output|completion|response|answer|generation)\b/,
    /string_above_max_length/,
  ]
    .map(({ source }) => source)
    .join('|'),
  'i',
)
const any = new RegExp(contextWords.map(({ words }) => words.source).join('|'), 'i')

export const isContextLength = (words: string): boolean => any.test(words) && !elsewhere.test(words)
