/**
 * Vendors' terms for moderated requests: OpenAI `moderation_blocked`, `content_policy_violation`; Stability
 * `content_moderation`; fal `content_policy_violation`; Google's `Responsible AI`; Replicate's `NSFW` and `E005`.
 */
const moderationWords =
  /moderation|moderated|content[ _-]?(?:policy|filter|violation)|content_filtered|safety (?:system|filter|check)|flagged as|\bnsfw\b|\bE005\b|sensitive (?:content|words)|responsible ai|prohibited (?:content|use)/i

export const isRefusal = (words: string): boolean => moderationWords.test(words)
