import { _ as _export_sfc, s as ssrRenderAttrs_1, v as vueExports } from "./plugin-vue_export-helper.BpaZaA78.js";
import "node:stream";
const __pageData = JSON.parse('{"title":"","description":"","frontmatter":{"layout":"home","hero":{"name":"Dogwood","text":"A realtime JSON tree database","tagline":"One binary, on your own machine. The Firebase SDKs work with it unmodified.","actions":[{"theme":"brand","text":"Start","link":"/start"},{"theme":"alt","text":"Concepts in one page","link":"/concepts"},{"theme":"alt","text":"Move from Firebase","link":"/from-firebase"}]},"features":[{"title":"Build an app","details":"Read and write any path, listen for changes, work offline. Five-minute tutorials for browsers, Node and Go.","link":"/tutorial-browser"},{"title":"Design data and rules","details":"How to lay out a tree, who may read and write it, and tests for both.","link":"/data-modelling"},{"title":"Run a server","details":"Proxies, systemd and containers, sizing, backups, metrics, and what to do when something is wrong.","link":"/deployment"},{"title":"Look it up","details":"Commands, the rules language, REST, the realtime protocol and every limit.","link":"/cli"}]},"headers":[],"relativePath":"index.md","filePath":"site/index.md"}');
const _sfc_main = { name: "index.md" };
function _sfc_ssrRender(_ctx, _push, _parent, _attrs, $props, $setup, $data, $options) {
  _push(`<div${ssrRenderAttrs_1(_attrs)}></div>`);
}
const _sfc_setup = _sfc_main.setup;
_sfc_main.setup = (props, ctx) => {
  const ssrContext = vueExports.useSSRContext();
  (ssrContext.modules || (ssrContext.modules = /* @__PURE__ */ new Set())).add("site/index.md");
  return _sfc_setup ? _sfc_setup(props, ctx) : void 0;
};
const index = /* @__PURE__ */ _export_sfc(_sfc_main, [["ssrRender", _sfc_ssrRender]]);
export {
  __pageData,
  index as default
};
