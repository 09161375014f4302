// Takes long: begun before others.
// The official clients talk straight to the loopback vendors: what they accept here, our gateway has to cope with.
import './openai/openai.cases.ts'
import './openai/responses.cases.ts'
import './anthropic/anthropic.cases.ts'
import './openrouter/openrouter.cases.ts'
import './ollama/ollama.cases.ts'
import './delivery/delivery.cases.ts'
import './refusals.cases.ts'
import './gemini/gemini.cases.ts'
import './gemini/vertex.cases.ts'
import './bedrock/bedrock.cases.ts'
import './azure/azure.cases.ts'
