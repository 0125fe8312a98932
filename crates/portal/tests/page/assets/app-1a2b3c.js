let page;
