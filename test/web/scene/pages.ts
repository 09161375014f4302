import type { ListedPage } from './listed-page.ts'
import type { Scene } from './scene.ts'
import { computerPages, developerPages, drivePages, workPages } from './tool-pages.ts'

const startPages: ListedPage[] = [
  {
    name: 'home',
    path: '/app',
    async open(page) {
      await page.getByRole('link', { name: 'Views of the mountain' }).waitFor()
    },
  },
  {
    name: 'palette',
    path: '/app',
    async open(page) {
      await page.keyboard.press('Control+k')
      await page.getByRole('option', { name: /^New chat/ }).waitFor()
    },
  },
  {
    name: 'shortcuts',
    path: '/app',
    async open(page) {
      await page.keyboard.press('?')
      await page.getByRole('dialog', { name: 'Keyboard shortcuts' }).waitFor()
    },
  },
  {
    name: 'welcome',
    path: '/app/welcome',
    async open(page) {
      await page.getByRole('list', { name: 'Available providers' }).waitFor()
    },
  },
  {
    name: 'search',
    path: '/app/search?q=mountain',
    async open(page) {
      await page.getByRole('list', { name: 'Results' }).waitFor()
    },
  },
  {
    name: 'nowhere',
    path: '/app/ai-routing/no/such-page',
    async open(page) {
      await page.getByRole('searchbox', { name: 'Search' }).waitFor()
    },
  },
]

const gatewayPages: ListedPage[] = [
  {
    name: 'providers',
    path: '/app/ai-routing',
    async open(page) {
      await page.getByRole('button', { name: 'Test provider OpenAI', exact: true }).click()
      await page.getByText('The provider is working.').waitFor({ state: 'attached' })
    },
  },
  {
    name: 'add-provider',
    path: '/app/ai-routing',
    async open(page) {
      await page.getByRole('button', { name: 'Add provider' }).click()
      await page.getByLabel('API key').waitFor()
    },
  },
  {
    name: 'preview',
    path: '/app/ai-routing/preview',
    async open(page) {
      await page.getByLabel('Model', { exact: true }).fill('gpt-4o')
      await page.getByLabel('Max. output tokens').fill('2000')
      await page.getByLabel('Input tokens').fill('12000')
      await page.getByLabel('Seed').fill('36')
      await page.getByText('Routing options').click()
      await page.getByLabel('Ignored providers').fill('house')
      await page.getByRole('heading', { name: 'Skipped providers' }).waitFor()
      await page.getByText('Routing options').click()
      await page.keyboard.press('Escape')
    },
  },
  {
    name: 'models',
    path: '/app/ai-routing/models',
    async open(page) {
      await page.getByRole('list', { name: 'Models' }).getByText('served by').first().waitFor()
    },
  },
  {
    name: 'workspace-keys',
    path: '/app/ai-routing/keys',
    async open(page) {
      await page.getByLabel('Workspace', { exact: true }).selectOption({ label: 'Print shop' })
    },
  },
  {
    name: 'usage',
    path: '/app/ai-routing/usage',
    async open(page) {
      await page.getByRole('table', { name: 'By model' }).waitFor()
    },
  },
]

const chatPages = ({ chatId, temporaryId }: Scene): ListedPage[] => [
  {
    name: 'chats',
    path: '/app/chats',
    async open(page) {
      await page.getByRole('link', { name: 'Views of the mountain' }).waitFor()
    },
  },
  {
    name: 'chat',
    path: `/app/chats/${chatId}`,
    async open(page) {
      await page.getByText('From the lake').waitFor()
    },
  },
  {
    name: 'temporary-chat-diagram',
    path: `/app/chats/${temporaryId}`,
    async open(page) {
      await page.getByRole('region', { name: 'Temporary chat' }).waitFor()
      await page.getByRole('button', { name: 'Draw', exact: true }).press('Enter')
      await page.frameLocator('iframe').locator('svg').getByText('Keyblock').waitFor()
    },
  },
]

const accountPages: ListedPage[] = [
  { name: 'security', path: '/app/settings/security' },
  { name: 'workspaces', path: '/app/workspaces' },
  { name: 'accounts', path: '/app/accounts' },
  {
    name: 'instance',
    path: '/app/admin/instance',
    async open(page) {
      await page.getByRole('list', { name: 'Checks' }).waitFor()
    },
  },
  { name: 'shared-by-me', path: '/app/shared-by-me' },
  { name: 'shared-with-me', path: '/app/shared-with-me' },
  {
    name: 'share',
    path: '/app/share',
    async open(page) {
      await page.getByRole('heading', { name: 'Nothing to share' }).waitFor()
    },
  },
  { name: 'inbox', path: '/app/inbox' },
  { name: 'notifications', path: '/app/settings/notifications' },
]

/** The app's pages for signed-in users. */
export const pagesOf = (scene: Scene): ListedPage[] => [
  ...startPages,
  ...gatewayPages,
  ...chatPages(scene),
  ...developerPages(scene),
  ...workPages(scene),
  ...computerPages(scene),
  ...drivePages(scene),
  ...accountPages,
]
