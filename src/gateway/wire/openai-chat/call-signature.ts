import { type Json, objectOf, textOf } from '../../model/json.ts'

/**
 * Gemini's signature of a call, as Google's own endpoint in OpenAI's shape has it
 * (https://ai.google.dev/gemini-api/docs/openai, thought signatures). Empty: none.
 */
export function readCallSignature(call: Json): string {
  const { google } = objectOf(call['extra_content'])
  return textOf(objectOf(google)['thought_signature'])
}

export const writeCallSignature = (thought_signature: string): Json => ({
  extra_content: { google: { thought_signature } },
})
