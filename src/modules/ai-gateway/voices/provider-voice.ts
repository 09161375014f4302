/** Null and empty: unknown. */
export interface ProviderVoice {
  /** The provider's ID. */
  id: string
  name: string
  /** BCP 47. */
  languages: readonly string[]
  gender: 'female' | 'male' | 'neutral' | null
  styles: readonly string[]
  previewUrl: string | null
  /** The only model with this voice. Null: all of the provider's speech models. */
  model: string | null
  /** ISO 8601. */
  createdAt: string | null
}
