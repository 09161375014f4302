import { type Json, objectOf, textOf } from '../../model/json.ts'

/**
 * Google's OpenAI-compatible endpoint (https://ai.google.dev/gemini-api/docs/openai, thought signatures). Empty if
 * there is none.
 */
export function readCallSignature(call: Json): string {
  const { google } = objectOf(call['extra_content'])
  return textOf(objectOf(google)['thought_signature'])
}

export const writeCallSignature = (thought_signature: string): Json => ({
  extra_content: { google: { thought_signature } },
})
