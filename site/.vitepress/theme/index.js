// The default theme with the fonts of the system, which are there without a network.
import { useRoute } from 'vitepress'
import DefaultTheme from 'vitepress/theme-without-fonts'
import { nextTick, onMounted, watch } from 'vue'
import './style.css'

/** The theme has no main landmark on the first page, by which screen readers find the content. */
function markMain() {
  const content = document.getElementById('VPContent')
  if (content?.classList.contains('is-home')) content.setAttribute('role', 'main')
  else content?.removeAttribute('role')
}

export default {
  extends: DefaultTheme,
  setup() {
    const route = useRoute()
    onMounted(markMain)
    watch(() => route.path, () => nextTick(markMain))
  }
}
