import type { Page } from 'playwright-core'

export interface ListedPage {
  name: string
  path: string
  /** Opens the page's content. */
  open?: (page: Page) => Promise<void>
}
