/** A voice as its provider, or its engine, tells of it. Null and empty: it does not say. */
export interface FoundVoice {
  /** The voice's name in requests to the provider. */
  id: string
  name: string
  /** BCP 47. */
  languages: readonly string[]
  gender: 'female' | 'male' | 'neutral' | null
  styles: readonly string[]
  previewUrl: string | null
  /** The provider's name of the one model that speaks with it; null: all of its models that speak. */
  model: string | null
  /** ISO 8601. */
  createdAt: string | null
}
