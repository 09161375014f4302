/** Names whose opaque reasoning a part holds, in OpenRouter's word for it. */
export const GEMINI_FORMAT = 'google-gemini-v1'
