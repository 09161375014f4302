// The official clients talk straight to the loopback vendors: what they accept here, our gateway has to cope with.
import './openai.cases.ts'
import './openai-responses.cases.ts'
import './anthropic.cases.ts'
import './openrouter.cases.ts'
import './ollama.cases.ts'
import './delivery.cases.ts'
